// The calibrated chip against measured kernels, on a part of the rows that bench/calibrate reports on, and the fit.
#include "calibrate/fit.h"
#include "calibrate/model.h"
#include "device/run_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace asmevo {
namespace {

using namespace test;
using namespace calibrate;

/// Two rows of each program: a quarter and three quarters along its sizes.
std::vector<Row> someRows(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> programs;
  for (const Row& row : rows)
    programs[row.program].push_back(row);
  std::vector<Row> chosen;
  for (const auto& [program, own] : programs)
    for (const std::size_t i : {own.size() / 4, own.size() * 3 / 4})
      chosen.push_back(own[i]);
  return chosen;
}

std::vector<Outcome> outcomesOf(Dataset& dataset, const timing::Chip& chip, const std::vector<Row>& rows) {
  std::vector<Outcome> outcomes;
  for (const Row& row : rows) {
    const SequenceTime time = must(timeOf(must(dataset.sequence(row, chip)), chip));
    outcomes.push_back({row, time.total(chip.parameter("launch.floorMicroseconds"), dataset.hostCosts()), false});
  }
  return outcomes;
}

TEST(Calibration, Mi300aKernelsTakeAboutTheMeasuredTime) {
  const auto dataset = makeMi300a();
  const timing::Chip chip = must(timing::loadChip("mi300a"));
  const std::vector<Row> rows = someRows(must(dataset->rows()));
  ASSERT_EQ(rows.size(), 40u);
  const std::vector<Outcome> outcomes = outcomesOf(*dataset, chip, rows);
  const ErrorSummary all = summarize(outcomes);
  EXPECT_LE(all.median, 0.15);
  EXPECT_LE(all.mean, 0.25);
  for (const ProgramErrors& program : byProgram(outcomes))
    EXPECT_LE(program.errors.mean, 0.60) << program.program;
}

TEST(Calibration, ReadsTheRowsThatCount) {
  const std::vector<Row> rows = must(makeMi300a()->rows());
  EXPECT_GE(rows.size(), 100u);
  for (const Row& row : rows)
    EXPECT_GE(row.microseconds, 8) << row.program << " " << row.size;
  const auto first = std::ranges::find_if(rows, [](const Row& row) { return row.program == "vectoradd"; });
  ASSERT_NE(first, rows.end());
  EXPECT_EQ(first->size, "2097152");
  EXPECT_NEAR(first->microseconds, 9.9, 1e-9);
  // Two runs disagreed on these.
  EXPECT_TRUE(
      std::ranges::none_of(rows, [](const Row& row) { return row.program == "vectoradd" && row.size == "536870912"; }));
}

TEST(Calibration, SplitTakesEverySecondProgramByName) {
  const std::vector<Row> rows{{"d", "1", 9}, {"b", "1", 9}, {"a", "1", 9}, {"b", "2", 9}, {"c", "1", 9}};
  EXPECT_EQ(calibratedPrograms(rows), (std::vector<std::string>{"a", "c"}));
}

TEST(Calibration, SequenceTimeAddsUp) {
  HostCosts host;
  host.chainedMicroseconds = 2;
  host.synchronizeMicroseconds = 10;
  host.copyMicroseconds = 5;
  host.copyBytesPerMicrosecond = 1000;
  host.stagedBytesPerMicrosecond = 100;
  host.stagedMost = 4096;
  host.migrationNanosecondsPerKb = 1;
  SequenceTime time;
  time.launchCount = 3;
  time.copies = 1;
  time.copiedBytes = 8000;
  time.synchronizations = 1;
  time.launches = {{2, 7, 0, 0}, {1, 20, 3, 5 * 1024 * 1000.0}};
  // floor + chained + synchronization + copy (8 us of bytes) + 2 * 7 + 20 + 5 us of migration, 3 of them hidden
  EXPECT_NEAR(time.total(4, host), 4 + 2 * 2 + 10 + 5 + 8 + 14 + 20 + 2, 1e-9);
  time.copiedBytes = 4000; // staged: 40 us
  EXPECT_NEAR(time.total(4, host), 4 + 4 + 10 + 5 + 40 + 14 + 20 + 2, 1e-9);
}

TEST(Calibration, SummaryOfErrors) {
  const std::vector<Outcome> outcomes{
      {{"a", "1", 10}, 12, true}, {{"a", "2", 10}, 9, true}, {{"b", "1", 10}, 16, false}};
  const ErrorSummary all = summarize(outcomes);
  EXPECT_EQ(all.points, 3u);
  EXPECT_NEAR(all.mean, 0.3, 1e-12);
  EXPECT_NEAR(all.median, 0.2, 1e-12);
  EXPECT_NEAR(all.most, 0.6, 1e-12);
  EXPECT_NEAR(all.bias, 0.7 / 3, 1e-12);
  ASSERT_EQ(byProgram(outcomes).size(), 2u);
  EXPECT_NEAR(byProgram(outcomes)[0].errors.mean, 0.15, 1e-12);
}

/// Rows whose "measurements" are the model's own at other values of the free numbers.
class MadeUp final : public Dataset {
 public:
  MadeUp() : inner(makeMi300a()) {}

  std::string name() const override { return "made up"; }
  std::string chip() const override { return "mi300a"; }
  Result<std::vector<Row>> rows() override {
    HostCosts host;
    host.chainedMicroseconds = 1.25;
    const timing::Chip chip =
        withParameter(withParameter(must(timing::loadChip("mi300a")), "fabric.bytesPerClkPerXcd", 300),
                      "launch.floorMicroseconds", 3);
    std::vector<Row> made;
    for (const auto& [program, size] : std::vector<std::pair<std::string, std::string>>{
             {"relu", "8388608"}, {"relu", "16777216"}, {"pagerank", "nodes64_sparsity0.5_priters2"}}) {
      Row row{program, size, 0};
      row.microseconds = must(timeOf(must(inner->sequence(row, chip)), chip)).total(3, host);
      made.push_back(row);
    }
    // By name the second and the fourth program: unseen, so that the fit never asks for their launches.
    made.push_back({"quiet", "no size", 10});
    made.push_back({"unseen", "no size", 10});
    return made;
  }
  Result<Sequence> sequence(const Row& row, const timing::Chip& chip) override { return inner->sequence(row, chip); }
  std::vector<FreeParameter> freeParameters() const override {
    return {{"launch.floorMicroseconds", 2, 5}, {"fabric.bytesPerClkPerXcd", 200, 500}};
  }
  std::vector<FreeHostCost> freeHostCosts() const override {
    return {{"chainedMicroseconds", &HostCosts::chainedMicroseconds, 0, 4}};
  }

 private:
  std::unique_ptr<Dataset> inner;
};

TEST(Calibration, FitFindsTheNumbersThatMadeTheMeasurements) {
  MadeUp dataset;
  const std::vector<Row> rows = must(dataset.rows());
  ASSERT_EQ(fitRows(dataset, rows).size(), 3u) << "calibrated: pagerank, relu";
  const timing::Chip start = must(timing::loadChip("mi300a"));
  const auto silent = [](const std::string&) {};
  const FitResult found = must(fit(dataset, start, rows, silent));
  EXPECT_LT(found.after, found.before);
  EXPECT_LT(found.after, 0.01);
  EXPECT_NEAR(found.chip.parameter("fabric.bytesPerClkPerXcd"), 300, 9);
  EXPECT_NEAR(found.chip.parameter("launch.floorMicroseconds"), 3, 0.3);
  const FitResult again = must(fit(dataset, start, rows, silent));
  EXPECT_EQ(found.chip.parameters, again.chip.parameters);
  EXPECT_EQ(found.host.chainedMicroseconds, again.host.chainedMicroseconds);
}

TEST(Calibration, WritesFittedValuesIntoTheChipFile) {
  const std::string text = "{\n  \"parameters\": {\n    \"a.b\": {\"value\": 1, \"source\": \"x\"},\n"
                           "    \"c\": {\"value\": 2, \"source\": \"y\"}\n  }\n}\n";
  timing::Chip chip;
  chip.parameters = {{"a.b", 3.65e12}, {"c", 25.25}};
  EXPECT_EQ(must(rewriteChip(text, chip, {"a.b", "c"}, "fitted")),
            "{\n  \"parameters\": {\n    \"a.b\": {\"value\": 3650000000000, \"source\": \"fitted\"},\n"
            "    \"c\": {\"value\": 25.25, \"source\": \"fitted\"}\n  }\n}\n");
  EXPECT_FALSE(rewriteChip(text, chip, {"d"}, "fitted"));
}

} // namespace
} // namespace asmevo

#include "optimize/search/ledger.h"

#include <sqlite3.h>
#include <zstd.h>

#include <nlohmann/json.hpp>

#include <utility>
#include <variant>

namespace asmevo::optimize {

namespace {

constexpr int schemaVersion = 2;
constexpr int applicationId = 0x41734576; // "AsEv"
constexpr int busyMilliseconds = 60'000;
constexpr std::uint64_t largestObject = std::uint64_t{1} << 30;

constexpr const char* schema = R"(
CREATE TABLE job(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, seconds REAL NOT NULL DEFAULT 0,
                 start_useless INTEGER NOT NULL DEFAULT 0);
CREATE TABLE start_arm(job INTEGER NOT NULL, class TEXT NOT NULL, move TEXT NOT NULL, pulls REAL NOT NULL,
                       gains REAL NOT NULL);
CREATE TABLE candidate(job INTEGER NOT NULL, hash TEXT NOT NULL, cycles REAL, perturbed TEXT NOT NULL, by_one INTEGER NOT NULL,
                       PRIMARY KEY(job, hash)) WITHOUT ROWID;
CREATE TABLE verdict(job INTEGER NOT NULL, hash TEXT NOT NULL, level INTEGER NOT NULL, reason TEXT NOT NULL,
                     gate TEXT NOT NULL, PRIMARY KEY(job, hash)) WITHOUT ROWID;
CREATE TABLE accepted(job INTEGER NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL, k1 BLOB NOT NULL,
                      edits TEXT NOT NULL, PRIMARY KEY(job, number));
CREATE TABLE arm(class TEXT NOT NULL, move TEXT NOT NULL, pulls REAL NOT NULL, gains REAL NOT NULL,
                 PRIMARY KEY(class, move)) WITHOUT ROWID;
CREATE TABLE start_lesson(job INTEGER NOT NULL, window TEXT NOT NULL, move TEXT NOT NULL, reason TEXT NOT NULL,
                          speedup REAL NOT NULL);
CREATE INDEX start_lesson_window ON start_lesson(job, window);
CREATE TABLE lesson(window TEXT NOT NULL, move TEXT NOT NULL, reason TEXT NOT NULL, speedup REAL NOT NULL,
                    PRIMARY KEY(window, move)) WITHOUT ROWID;
CREATE TABLE useless(id INTEGER PRIMARY KEY, window TEXT NOT NULL, move TEXT NOT NULL, effort INTEGER NOT NULL,
                     program TEXT NOT NULL, UNIQUE(window, move, effort, program));
)";

Result<Bytes> compress(std::span<const std::uint8_t> bytes) {
  Bytes out(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
  if (ZSTD_isError(size))
    return internalError("zstd: {}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Result<Bytes> decompress(std::span<const std::uint8_t> bytes) {
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > largestObject)
    return badInput("damaged object in the ledger");
  Bytes out(size);
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) || got != size)
    return badInput("damaged object in the ledger");
  return out;
}

} // namespace

struct Ledger::Impl {
  std::string path;
  sqlite3* db = nullptr;
  std::int64_t job = 0;

  ~Impl() { sqlite3_close(db); }

  Error failure(std::string_view doing) const {
    return internalError("ledger {}: {}: {}", path, doing, sqlite3_errmsg(db));
  }

  Status run(const char* sql) const {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return failure("cannot be written");
    return {};
  }
};

namespace {

using Value = std::variant<std::int64_t, double, std::string, Bytes, std::nullptr_t>;

/// A statement with its values bound; finalised with it.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql, const std::vector<Value>& values) {
    good = sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) == SQLITE_OK;
    for (std::size_t i = 0; good && i < values.size(); ++i)
      good = bind(static_cast<int>(i + 1), values[i]) == SQLITE_OK;
  }
  ~Statement() { sqlite3_finalize(statement); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return good ? sqlite3_step(statement) : SQLITE_ERROR; }
  bool isNull(int column) { return sqlite3_column_type(statement, column) == SQLITE_NULL; }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement, column); }
  double real(int column) { return sqlite3_column_double(statement, column); }
  std::string text(int column) {
    const auto* bytes = sqlite3_column_text(statement, column);
    return bytes ? reinterpret_cast<const char*>(bytes) : "";
  }
  std::span<const std::uint8_t> blob(int column) {
    return {static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, column)),
            static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
  }

 private:
  int bind(int at, const Value& value) {
    if (const auto* i = std::get_if<std::int64_t>(&value))
      return sqlite3_bind_int64(statement, at, *i);
    if (const auto* d = std::get_if<double>(&value))
      return sqlite3_bind_double(statement, at, *d);
    if (const auto* s = std::get_if<std::string>(&value))
      return sqlite3_bind_text(statement, at, s->c_str(), static_cast<int>(s->size()), SQLITE_TRANSIENT);
    if (const auto* b = std::get_if<Bytes>(&value))
      return sqlite3_bind_blob64(statement, at, b->data(), b->size(), SQLITE_TRANSIENT);
    return sqlite3_bind_null(statement, at);
  }

  sqlite3_stmt* statement = nullptr;
  bool good = false;
};

} // namespace

Ledger::Ledger(std::unique_ptr<Impl> state) : impl(std::move(state)) {}
Ledger::~Ledger() = default;

Result<std::unique_ptr<Ledger>> Ledger::open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path.empty() ? "in memory" : path;
  if (sqlite3_open(path.empty() ? ":memory:" : path.c_str(), &impl->db) != SQLITE_OK)
    return badInput("ledger {}: {}", impl->path, sqlite3_errmsg(impl->db));
  sqlite3_busy_timeout(impl->db, busyMilliseconds);
  // A commit reaches the file before the next answer is worked out; the disk's own cache may be lost with the machine.
  if (sqlite3_exec(impl->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE", nullptr, nullptr,
                   nullptr) != SQLITE_OK)
    return badInput("ledger {}: {}: give another file, or delete this one", impl->path, sqlite3_errmsg(impl->db));
  std::int64_t tables = 0, id = 0, version = 0;
  const auto number = [&](const char* sql, std::int64_t& into) {
    Statement query(impl->db, sql, {});
    if (query.step() == SQLITE_ROW)
      into = query.integer(0);
  };
  number("SELECT count(*) FROM sqlite_master", tables);
  number("PRAGMA application_id", id);
  number("PRAGMA user_version", version);
  if (tables == 0) {
    ASMEVO_CHECK(impl->run(schema));
    ASMEVO_CHECK(impl->run(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", applicationId, schemaVersion).c_str()));
  } else if (id != applicationId || version != schemaVersion) {
    return badInput("{}: not a ledger of this version of asmevo: give another file, or delete this one", impl->path);
  }
  ASMEVO_CHECK(impl->run("COMMIT"));
  return std::unique_ptr<Ledger>(new Ledger(std::move(impl)));
}

Result<Ledger::Job> Ledger::begin(const std::string& key) {
  Job job;
  ASMEVO_CHECK(impl->run("BEGIN IMMEDIATE"));
  {
    Statement find(impl->db, "SELECT id, seconds FROM job WHERE key = ?", {key});
    if (find.step() == SQLITE_ROW) {
      job.resumed = true;
      impl->job = find.integer(0);
      job.seconds = find.real(1);
    }
  }
  if (!job.resumed) {
    Statement add(impl->db, "INSERT INTO job(key, start_useless) SELECT ?, coalesce((SELECT max(id) FROM useless), 0)",
                  {key});
    if (add.step() != SQLITE_DONE)
      return impl->failure("cannot add a job");
    impl->job = sqlite3_last_insert_rowid(impl->db);
    for (const char* sql : {"INSERT INTO start_arm SELECT ?, class, move, pulls, gains FROM arm",
                            "INSERT INTO start_lesson SELECT ?, window, move, reason, speedup FROM lesson"}) {
      Statement copy(impl->db, sql, {impl->job});
      if (copy.step() != SQLITE_DONE)
        return impl->failure("cannot add a job");
    }
  }
  ASMEVO_CHECK(impl->run("COMMIT"));
  Statement arms(impl->db, "SELECT class, move, pulls, gains FROM start_arm WHERE job = ? ORDER BY class, move",
                 {impl->job});
  while (arms.step() == SQLITE_ROW)
    job.arms.push_back({arms.text(0), arms.text(1), arms.real(2), arms.real(3)});
  return job;
}

Status Ledger::spent(double seconds) {
  Statement update(impl->db, "UPDATE job SET seconds = seconds + ? WHERE id = ?", {seconds, impl->job});
  return update.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Result<std::optional<LedgerPrice>> Ledger::price(const std::string& candidate) {
  Statement find(impl->db, "SELECT cycles, perturbed, by_one FROM candidate WHERE job = ? AND hash = ?",
                 {impl->job, candidate});
  const int got = find.step();
  if (got == SQLITE_DONE)
    return std::optional<LedgerPrice>();
  if (got != SQLITE_ROW)
    return impl->failure("cannot be read");
  LedgerPrice price;
  if (!find.isNull(0))
    price.cycles = find.real(0);
  price.byOne = find.integer(2) != 0;
  const auto list = nlohmann::json::parse(find.text(1), nullptr, false);
  if (!list.is_array())
    return badInput("ledger {}: damaged price", impl->path);
  for (const auto& one : list)
    price.perturbed.push_back(one.is_number() ? one.get<double>() : 0);
  return std::optional(std::move(price));
}

Status Ledger::setPrice(const std::string& candidate, const LedgerPrice& price) {
  const Value cycles = price.cycles ? Value(*price.cycles) : Value(nullptr);
  Statement put(impl->db, "INSERT OR REPLACE INTO candidate VALUES(?, ?, ?, ?, ?)",
                {impl->job, candidate, cycles, nlohmann::json(price.perturbed).dump(), std::int64_t{price.byOne}});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Result<std::optional<LedgerVerdict>> Ledger::verdict(const std::string& candidate) {
  Statement find(impl->db, "SELECT level, reason, gate FROM verdict WHERE job = ? AND hash = ?",
                 {impl->job, candidate});
  const int got = find.step();
  if (got == SQLITE_DONE)
    return std::optional<LedgerVerdict>();
  if (got != SQLITE_ROW)
    return impl->failure("cannot be read");
  const std::int64_t level = find.integer(0);
  if (level < 0 || level > static_cast<std::int64_t>(verify::Level::unknown))
    return badInput("ledger {}: damaged verdict", impl->path);
  return std::optional(LedgerVerdict{static_cast<verify::Level>(level), find.text(1), find.text(2)});
}

Status Ledger::setVerdict(const std::string& candidate, const LedgerVerdict& verdict) {
  Statement put(impl->db, "INSERT OR REPLACE INTO verdict VALUES(?, ?, ?, ?, ?)",
                {impl->job, candidate, static_cast<std::int64_t>(verdict.level), verdict.reason, verdict.gate});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Status Ledger::setAccepted(std::size_t number, const std::string& candidate, std::span<const std::uint8_t> k1,
                           const nlohmann::json& edits) {
  ASMEVO_TRY(Bytes packed, compress(k1));
  Statement put(impl->db, "INSERT OR REPLACE INTO accepted VALUES(?, ?, ?, ?, ?)",
                {impl->job, static_cast<std::int64_t>(number), candidate, std::move(packed), edits.dump()});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Result<std::optional<Bytes>> Ledger::lastAccepted() {
  Statement find(impl->db, "SELECT k1 FROM accepted WHERE job = ? ORDER BY number DESC LIMIT 1", {impl->job});
  const int got = find.step();
  if (got == SQLITE_DONE)
    return std::optional<Bytes>();
  if (got != SQLITE_ROW)
    return impl->failure("cannot be read");
  ASMEVO_TRY(Bytes k1, decompress(find.blob(0)));
  return std::optional(std::move(k1));
}

Result<std::size_t> Ledger::acceptedCount() {
  Statement find(impl->db, "SELECT count(*) FROM accepted WHERE job = ?", {impl->job});
  if (find.step() != SQLITE_ROW)
    return impl->failure("cannot be read");
  return static_cast<std::size_t>(find.integer(0));
}

Status Ledger::learn(const std::string& windowClass, const std::string& move, bool gained) {
  Statement put(impl->db,
                "INSERT INTO arm VALUES(?1, ?2, 1, ?3) ON CONFLICT DO UPDATE SET pulls = pulls + 1, gains = gains + ?3",
                {windowClass, move, gained ? 1.0 : 0.0});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Result<std::vector<LedgerLesson>> Ledger::lessons(const std::string& window) {
  std::vector<LedgerLesson> lessons;
  Statement find(impl->db,
                 "SELECT move, reason, speedup FROM start_lesson WHERE job = ? AND window = ? "
                 "ORDER BY speedup DESC, move",
                 {impl->job, window});
  int got = 0;
  while ((got = find.step()) == SQLITE_ROW)
    lessons.push_back({find.text(0), find.text(1), find.real(2)});
  if (got != SQLITE_DONE)
    return impl->failure("cannot be read");
  return lessons;
}

Status Ledger::addLesson(const std::string& window, const LedgerLesson& lesson) {
  Statement put(impl->db,
                "INSERT INTO lesson VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET reason = ?3, speedup = ?4 "
                "WHERE speedup < ?4",
                {window, lesson.move, lesson.reason, lesson.speedup});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

Result<Ledger::Use> Ledger::useOf(const std::string& program, const std::string& window, const std::string& move,
                                  unsigned effort) {
  Statement find(impl->db,
                 "SELECT max(program = ?1) FROM useless WHERE window = ?2 AND move = ?3 AND effort = ?4 AND "
                 "id <= (SELECT start_useless FROM job WHERE job.id = ?5)",
                 {program, window, move, std::int64_t{effort}, impl->job});
  if (find.step() != SQLITE_ROW)
    return impl->failure("cannot be read");
  return find.isNull(0) ? Use::unknown : find.integer(0) ? Use::none : Use::noneElsewhere;
}

Status Ledger::addUseless(const std::string& program, const std::string& window, const std::string& move,
                          unsigned effort) {
  Statement put(impl->db, "INSERT OR IGNORE INTO useless(window, move, effort, program) VALUES(?, ?, ?, ?)",
                {window, move, std::int64_t{effort}, program});
  return put.step() == SQLITE_DONE ? Status() : impl->failure("cannot be written");
}

} // namespace asmevo::optimize

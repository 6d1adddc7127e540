/// A loopback HTTP server that answers each POST with the next scripted body and keeps what it was sent.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace asmevo::tests {

struct ScriptedAnswer {
  int status = 200;
  std::string body;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<ScriptedAnswer> script);
  ~ScriptedServer();
  std::string baseUrl() const;               ///< "http://127.0.0.1:<port>/v1"
  std::vector<std::string> requests() const; ///< header and body of each request so far

 private:
  void serve();
  std::vector<ScriptedAnswer> answers;
  mutable std::mutex mutex;
  std::vector<std::string> seen;
  int listener = -1;
  int port = 0;
  std::atomic<bool> stopping = false;
  std::thread thread;
};

} // namespace asmevo::tests

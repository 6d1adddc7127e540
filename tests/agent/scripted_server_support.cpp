#include "agent/scripted_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace asmevo::tests {

ScriptedServer::ScriptedServer(std::vector<ScriptedAnswer> script) : answers(std::move(script)) {
  listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 8) != 0)
    std::abort();
  socklen_t length = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  port = ntohs(address.sin_port);
  thread = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  stopping = true;
  ::shutdown(listener, SHUT_RDWR);
  ::close(listener);
  thread.join();
}

std::string ScriptedServer::baseUrl() const {
  return fmt::format("http://127.0.0.1:{}/v1", port);
}

std::vector<std::string> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex);
  return seen;
}

void ScriptedServer::serve() {
  std::size_t next = 0;
  while (!stopping) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0)
      return;
    std::string request;
    char chunk[65536];
    std::size_t wanted = std::string::npos;
    while (request.size() < wanted) {
      const ssize_t got = ::read(client, chunk, sizeof chunk);
      if (got <= 0)
        break;
      request.append(chunk, static_cast<std::size_t>(got));
      const auto headerEnd = request.find("\r\n\r\n");
      if (headerEnd == std::string::npos)
        continue;
      if (request.find("Expect: 100-continue") < headerEnd && wanted == std::string::npos) {
        const std::string go = "HTTP/1.1 100 Continue\r\n\r\n";
        if (::write(client, go.data(), go.size()) < 0)
          break;
      }
      const auto lengthAt = request.find("Content-Length: ");
      wanted = headerEnd + 4 + (lengthAt < headerEnd ? std::strtoul(request.c_str() + lengthAt + 16, nullptr, 10) : 0);
    }
    {
      const std::lock_guard lock(mutex);
      seen.push_back(request);
    }
    const ScriptedAnswer answer = next < answers.size() ? answers[next++] : ScriptedAnswer{500, "script exhausted"};
    const std::string reply = fmt::format(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
        answer.status, answer.body.size(), answer.body);
    for (std::size_t sent = 0; sent < reply.size();) {
      const ssize_t put = ::send(client, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (put <= 0)
        break;
      sent += static_cast<std::size_t>(put);
    }
    ::close(client);
  }
}

} // namespace asmevo::tests

// The load of `npm run bench -- serving`: prepared requests over keep-alive HTTP/1.1 connections, from one thread that
// allocates nothing while it measures. A client in JavaScript stops for its own garbage collections, for as long as the
// hundredth request that is looked for.
//
// load-client HOST PORT REQUESTS CONNECTIONS PER_SECOND STEPS SECONDS WARM_UP_SECONDS SEED OUT
//
// REQUESTS: a file of requests, each a u32 length (of this machine's byte order) and its bytes. PER_SECOND 0 is a
// closed loop: each connection sends the next request when it has its answer. Else so many become due each second,
// whatever is answered meanwhile: at random moments (a Poisson process), or in equal steps (STEPS `even`). One that is
// due when no connection is free waits for one, and its latency counts from when it was due.
// A latency ends when the system has the last of the answer, by its time stamp: when this program reads it, which may
// be later on a machine that is busy, says nothing about the server.
// OUT: pairs of float32, latency and how late it was sent, in milliseconds, of what was sent behind the warm-up.
// Printed: how many were answered, the warm-up's too. Exit 1, with a line on standard error: what failed.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr double kIdleWaitMs = 100;
/** A server that has not answered for so long does not. */
constexpr double kDeadlineMs = 60'000;
constexpr size_t kAnswerBytesMax = 16 << 20;
/** So that a wait ends when it should; the system adds 50 microseconds by default. */
constexpr unsigned long kTimerSlackNanos = 1000;

[[noreturn]] void fail(const char* what) {
  if (errno != 0) perror(what);
  else fprintf(stderr, "%s\n", what);
  exit(1);
}

double milliseconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/** Milliseconds by the clock that the system's time stamps are of. */
double nowMs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return milliseconds(now);
}

std::vector<std::string> readRequests(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == nullptr) fail(path);
  std::vector<std::string> requests;
  for (uint32_t length = 0; fread(&length, sizeof length, 1, file) == 1;) {
    std::string request(length, '\0');
    if (fread(request.data(), 1, length, file) != length) fail("the file of requests ends within one");
    requests.push_back(std::move(request));
  }
  fclose(file);
  if (requests.empty()) fail("no requests");
  return requests;
}

int connectTo(const char* host, const char* port) {
  const int handle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(port)));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("not an IPv4 address");
  if (connect(handle, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("connect");
  const int on = 1;
  setsockopt(handle, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (setsockopt(handle, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) fail("time stamps");
  return handle;
}

/** A connection, which has one request under way or none. */
struct Connection {
  std::vector<char> answer;
  size_t received = 0;
  /** Of the whole answer, head included; 0: not known yet. */
  size_t expected = 0;
  /** When the system got what was read last. */
  double stampMs = 0;
  double sinceMs = 0;
  double lateMs = 0;

  /** Takes what has come; whether that is the whole answer. */
  bool takesWhole(int handle) {
    if (answer.size() - received < 65536) answer.resize(answer.size() * 2);
    iovec part{answer.data() + received, answer.size() - received - 1};
    alignas(cmsghdr) char control[256];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = recvmsg(handle, &message, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (bytes < 0) fail("recv");
    errno = 0;
    if (bytes == 0) fail("the server closed a connection");
    stampMs = stampOf(message);
    received += static_cast<size_t>(bytes);
    answer[received] = '\0';
    if (expected == 0) expected = lengthOfAnswer();
    return expected != 0 && received >= expected;
  }

  void forget() { received = expected = 0; }

 private:
  /** The first answers may have none: the system turns stamps on in its own time. */
  static double stampOf(msghdr& message) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec stamp;
      memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
      return milliseconds(stamp);
    }
    return nowMs();
  }

  size_t lengthOfAnswer() const {
    const char* end = strstr(answer.data(), "\r\n\r\n");
    if (end == nullptr) return 0;
    for (const char* line = strstr(answer.data(), "\r\n"); line != nullptr && line < end;
         line = strstr(line + 2, "\r\n")) {
      if (strncasecmp(line + 2, "content-length:", 15) != 0) continue;
      const size_t body = strtoul(line + 17, nullptr, 10);
      if (body == 0 || body > kAnswerBytesMax) break;
      return static_cast<size_t>(end - answer.data()) + 4 + body;
    }
    errno = 0;
    fail("an answer that is empty or of unknown length");
  }
};

}  // namespace

int main(int count, char** words) {
  if (count != 11) fail("load-client HOST PORT REQUESTS CONNECTIONS PER_SECOND STEPS SECONDS WARM_UP_SECONDS SEED OUT");
  const std::vector<std::string> requests = readRequests(words[3]);
  const size_t connections = strtoul(words[4], nullptr, 10);
  const double perSecond = atof(words[5]);
  const bool isOpen = perSecond > 0;
  const bool isEven = strcmp(words[6], "even") == 0;
  const double seconds = atof(words[7]);
  const double warmUpSeconds = atof(words[8]);
  std::mt19937_64 random(strtoull(words[9], nullptr, 10));
  prctl(PR_SET_TIMERSLACK, kTimerSlackNanos);

  std::vector<Connection> open(connections);
  std::vector<pollfd> handles(connections);
  std::vector<size_t> idle;
  for (size_t i = 0; i < connections; i++) {
    open[i].answer.resize(1 << 18);
    handles[i] = {connectTo(words[1], words[2]), POLLIN, 0};
    idle.push_back(i);
  }
  std::vector<float> measured;
  measured.reserve(isOpen ? static_cast<size_t>(perSecond * seconds * 3) : 1 << 22);
  /** Moments of requests that wait for a connection, from `waitsFrom` on. */
  std::vector<double> waiting;
  waiting.reserve(1 << 20);
  size_t waitsFrom = 0;
  size_t next = 0;
  size_t answered = 0;
  /** Whether one was sent that counts: a load of few requests goes on until then. */
  bool isMeasured = false;

  const double startMs = nowMs() + warmUpSeconds * 1e3;
  const double endMs = startMs + seconds * 1e3;
  const auto gapMs = [&] {
    return (isEven ? 1 : -std::log(1 - std::generate_canonical<double, 53>(random))) * 1e3 / perSecond;
  };
  const auto sendNext = [&](double dueMs, bool hadToWait) {
    std::swap(idle[random() % idle.size()], idle.back());
    const size_t place = idle.back();
    idle.pop_back();
    const std::string& request = requests[next++ % requests.size()];
    const double now = nowMs();
    open[place].sinceMs = hadToWait ? dueMs : now;
    open[place].lateMs = now - dueMs;
    isMeasured = isMeasured || open[place].sinceMs >= startMs;
    for (size_t at = 0; at < request.size();) {
      const ssize_t bytes = send(handles[place].fd, request.data() + at, request.size() - at, MSG_NOSIGNAL);
      if (bytes < 0) fail("send");
      at += static_cast<size_t>(bytes);
    }
  };

  double dueMs = isOpen ? nowMs() + gapMs() : 0;
  const auto isComing = [&] { return isOpen && (dueMs < endMs || (!isMeasured && waitsFrom == waiting.size())); };
  while (!isOpen && !idle.empty()) sendNext(nowMs(), false);
  for (;;) {
    double now = nowMs();
    for (; isComing() && dueMs <= now; dueMs += gapMs(), now = nowMs()) {
      if (idle.empty()) waiting.push_back(dueMs);
      else sendNext(dueMs, false);
    }
    const bool isAllSent = !isOpen || (waitsFrom == waiting.size() && !isComing());
    const bool isOver = now >= endMs && isAllSent && idle.size() == connections;
    if (isOver) break;
    errno = 0;
    if (now > endMs + kDeadlineMs) fail("answers did not come");
    const double waitMs = isComing() ? std::max(0.0, dueMs - now) : kIdleWaitMs;
    const timespec wait{static_cast<time_t>(waitMs / 1e3), static_cast<long>(std::fmod(waitMs, 1e3) * 1e6)};
    if (ppoll(handles.data(), handles.size(), &wait, nullptr) < 0 && errno != EINTR) fail("ppoll");
    for (size_t i = 0; i < connections; i++) {
      if (handles[i].revents == 0 || !open[i].takesWhole(handles[i].fd)) continue;
      now = nowMs();
      answered += 1;
      // On a machine that is busy with something else, the first one may come late.
      if (open[i].sinceMs >= startMs && (isOpen || now <= endMs || measured.empty())) {
        measured.push_back(static_cast<float>(open[i].stampMs - open[i].sinceMs));
        measured.push_back(static_cast<float>(open[i].lateMs));
      }
      open[i].forget();
      idle.push_back(i);
      if (isOpen && waitsFrom < waiting.size()) sendNext(waiting[waitsFrom++], true);
      else if (!isOpen && (now < endMs || measured.empty())) sendNext(now, false);
    }
  }
  FILE* out = fopen(words[10], "wb");
  if (out == nullptr || fwrite(measured.data(), sizeof(float), measured.size(), out) != measured.size() ||
      fclose(out) != 0)
    fail(words[10]);
  printf("%zu\n", answered);
}

// Gives other threads their turn while a thread holds a read-write lock alone: whenever it lets go of a mutex it rests for a moment,
// and until whoever waits for that mutex has had it. So what another thread may do in between, it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define NEXT(name) \
  static __typeof__(&name) next; \
  if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static const int kRestUs = 20, kTurnUs = 1000, kTurns = 200;

static __thread pthread_rwlock_t* alone;
static _Atomic(pthread_mutex_t*) wanted;

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  NEXT(pthread_rwlock_wrlock);
  const int result = next(lock);
  if (result == 0 && alone == NULL) alone = lock;
  return result;
}

int pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  NEXT(pthread_rwlock_unlock);
  if (alone == lock) alone = NULL;
  return next(lock);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  NEXT(pthread_mutex_lock);
  // The one that is waited for is the main thread.
  if (getpid() != gettid()) return next(mutex);
  if (pthread_mutex_trylock(mutex) == 0) return 0;
  atomic_store(&wanted, mutex);
  const int result = next(mutex);
  atomic_store(&wanted, NULL);
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  NEXT(pthread_mutex_unlock);
  const int result = next(mutex);
  if (alone == NULL) return result;
  usleep(kRestUs);
  for (int turn = 0; turn < kTurns && atomic_load(&wanted) == mutex; turn += 1) usleep(kTurnUs);
  return result;
}

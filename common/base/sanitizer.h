#pragma once

/*
 * For ThreadSanitizer, which follows our code but not the libraries: it does not see that what one
 * thread gives to a library, and another gets back from it, was handed over in order. Whoever gives
 * calls tsan_release() with the address, as the last thing before; whoever gets calls
 * tsan_acquire(). Without the sanitizer they are nothing.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAVE_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define HAVE_THREAD_SANITIZER 1
#endif

#ifdef HAVE_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define tsan_acquire(address) __tsan_acquire(address)
#define tsan_release(address) __tsan_release(address)
#else
#define tsan_acquire(address) ((void)(address))
#define tsan_release(address) ((void)(address))
#endif

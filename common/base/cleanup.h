#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Attributes and scope-bound clean-up. A variable with a clean-up is always initialised. */

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _must_check_ __attribute__((warn_unused_result))
#define _printf_(format_index, first_arg)                                                          \
    __attribute__((format(printf, (format_index), (first_arg))))
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Hands an owned pointer over: yields its value and leaves NULL behind. */
#define TAKE(pointer)                                                                              \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* The same for a descriptor, which leaves -1 behind. */
#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int taken_ = (fd);                                                                         \
        (fd) = -1;                                                                                 \
        taken_;                                                                                    \
    })

/* Makes fnp(), which calls fn() on the pointer that a variable holds: DEFINE_CLEANUP(struct pool,
 * pool_unref) allows _cleanup_(pool_unrefp) struct pool *pool = NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
    static inline void fn##p(type **pointer)                                                       \
    {                                                                                              \
        if (*pointer)                                                                              \
            fn(*pointer);                                                                          \
    }

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

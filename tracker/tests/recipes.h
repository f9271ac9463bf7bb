/* What a tracker has, for the tests of the recipes: on Windows from the events, elsewhere there are none. */
#ifndef HW_TESTS_RECIPES_H
#define HW_TESTS_RECIPES_H

#include "../highwater.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
void begin(void);
void expect_live_of(const HwTracker *tracker, int blocks, uint64_t bytes, const char *file, int line);
void use_recipes_in_cpp(void);
#ifdef __cplusplus
}
#endif

#define expect_live(tracker, blocks, bytes) expect_live_of(tracker, blocks, bytes, __FILE__, __LINE__)
#define expect(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#endif

/* A stand-in for ETW: EventRegister, EventWrite and their like, which keep the events that listening
 * sessions would have. Wine takes events and drops them, and Windows shows them to administrators only.
 * Everything that uses it is compiled with _EVNT_SOURCE_, so that evntprov.h does not import them. */
#ifndef HW_TESTS_ETW_H
#define HW_TESTS_ETW_H

#include "../highwater.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Played {
    EVENT_DESCRIPTOR event; /* id 0: a session started */
    DWORD thread;
    ULONG bytes;
    unsigned char payload[HW_NAME_BYTES];
} Played;

/* What was played, and how many of them there are; those beyond ROOM are lost, which is an error. */
enum { ROOM = 1 << 18 };
extern Played *played;
extern volatile LONG played_count;
/* Providers that are registered, and events that were written without one. */
extern volatile LONG registered, lost;

void etw_start(UCHAR level, ULONGLONG keywords);
void etw_stop(void);
/* A session asks for what there is. */
void etw_ask(void);
/* Forgets what was played. */
void etw_clear(void);
/* Takes events and keeps none, for measurements. */
void etw_keep(int keeps);

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

uint64_t word(const Played *event, int at);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One node after the other.
 *
 * What a node sends arrives at the other end of a cable at least the cable's delay later. So within
 * a window as long as the shortest delay of all cables, no node has any influence on another one.
 * In a window the nodes take turns: each processes all its events, in their order. The results are
 * those of the order of all events, but the data of a node stays in the processor's cache, and a
 * short list of its own events takes the place of the calendar. Windows follow each other, and what
 * a node adds for the next one waits there: few events pass the calendar.
 *
 * This needs that nothing but the nodes themselves looks at them: no watcher, no program, no
 * transfer that waits for others. An event that looks at all nodes ends the window before it. The
 * run must not end within a window, as the other nodes would be too far: see is_safe() in turn.c.
 */
#ifndef ADV_FABRIC_NETWORK_TURN_H
#define ADV_FABRIC_NETWORK_TURN_H

#include "fabric/network/internal.h"

/* Returns the earliest time of the first window of a run; ADV_CALENDAR_NEVER: there is none. */
uint64_t adv_turns_open(struct adv_fabric *f);
/* Begins a window: takes its events from the calendar, of which the next one is due. False: the
 * next event has to be processed alone. */
bool adv_turns_begin(struct adv_fabric *f, uint64_t until);
/* Gives the next node its turn. False: each has had it, and the window is over. */
bool adv_turns_next(struct adv_fabric *f);
/* Begins the window after the one that is over. False: there is none; call adv_turns_end(), and
 * take the next event from the calendar. */
bool adv_turns_again(struct adv_fabric *f, uint64_t until);
/* After the last window: moves the events that wait for a next one to the calendar. */
void adv_turns_end(struct adv_fabric *f);

#endif

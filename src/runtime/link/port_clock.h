/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of the devices on an emulated fabric. It runs as fast as the clock of the machine, but
 * leaves out what the emulator gives up if it cannot keep up, and hardly runs while the emulator
 * does nothing. So timeouts of queue pairs do not expire because the emulator was late.
 *
 * The emulator promises the time up to which it will have run. The promise and the sum of what it
 * gave up are in memory that the processes of all hosts map read-only.
 */
#ifndef ADV_RUNTIME_LINK_PORT_CLOCK_H
#define ADV_RUNTIME_LINK_PORT_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Past the promise, the devices' clock is so many times slower: loops that wait for a time end. */
#define ADV_PORT_CLOCK_CREEP 1024u
#define ADV_PORT_CLOCK_STOOD 10000u

/* The shared memory. Written by the emulator. */
struct adv_port_time {
	_Atomic uint64_t given_up; /* ns of the machine's clock; never decreases */
	/* Time of the devices' clock, ns, until which the emulator runs; UINT64_MAX: no limit */
	_Atomic uint64_t promised;
};

/* Emulator: sets both. The promise is in time of the machine's clock, ns; UINT64_MAX: no limit. */
void adv_port_time_set(struct adv_port_time *t, uint64_t given_up, uint64_t promised);

/* A process's reading of the clock. Any thread. */
struct adv_port_clock {
	const struct adv_port_time *time;
	_Atomic uint64_t last;	/* largest time returned, ns */
	_Atomic uint64_t ended; /* 1 + the difference of the clocks since the emulator's end */
};

/* Returns the time of the devices' clock, ns, at the time `clock` of the machine's clock. It never
 * decreases. */
uint64_t adv_port_clock_at(struct adv_port_clock *c, uint64_t clock);

/* True if the emulator's promise ended at least `ns` before the time `clock` of the machine. */
bool adv_port_clock_is_late(const struct adv_port_clock *c, uint64_t clock, uint64_t ns);

/* True if the devices' clock has lost at least ADV_PORT_CLOCK_STOOD ns of the machine's clock since
 * the last call that returned true. *behind: the caller's, 0 before the first call. */
bool adv_port_clock_stood(struct adv_port_clock *c, uint64_t clock, uint64_t *behind);

/* The emulator has exited: from now on the devices' clock runs as the machine's. */
void adv_port_clock_end(struct adv_port_clock *c, uint64_t clock);

#endif

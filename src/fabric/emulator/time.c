/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Virtual time, and the clock of the devices, which follows it (runtime/link/port_clock.h). The
 * emulator promises that it runs at least every PROMISE ns. Time beyond a broken promise is given
 * up as that of a late event is: a program may have sent meanwhile, and its packet was not carried.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/emulator/internal.h"

#define PATIENCE 2000000ull  /* ns that virtual time may be behind without giving up */
#define PROMISE	 10000000ull /* ns; less than the timeout that programs use, at the full speed */
#define RENEWED	 (PROMISE / 2)

int adv_emulator_time_open(struct emulator_time *t)
{
	*t = (struct emulator_time){
		.fd = memfd_create("adverb-time", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		.promise = UINT64_MAX};
	if (t->fd < 0 || ftruncate(t->fd, sizeof(*t->memory)) < 0)
		return errno;
	t->memory = mmap(NULL, sizeof(*t->memory), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->memory == MAP_FAILED) {
		t->memory = NULL;
		return ENOMEM;
	}
	adv_port_time_set(t->memory, 0, UINT64_MAX);
	/* Only this mapping can be written: a program cannot change the time of the others. */
	return fcntl(t->fd, F_ADD_SEALS,
		     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0
		       ? errno
		       : 0;
}

void adv_emulator_time_close(struct emulator_time *t)
{
	if (t->memory) {
		adv_port_time_set(t->memory, t->pace.slipped, UINT64_MAX);
		munmap(t->memory, sizeof(*t->memory));
	}
	t->memory = NULL;
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

void adv_emulator_time_start(struct emulator_time *t, uint32_t numerator, uint32_t denominator,
			     uint64_t now, uint64_t virtual_now)
{
	adv_pace_start(&t->pace, numerator, denominator, PATIENCE, now, virtual_now);
}

void adv_emulator_time_look(struct emulator_time *t, uint64_t next, uint64_t now, bool programs)
{
	uint64_t due = next;
	bool slipped = false;

	if (t->promise < now && adv_pace_virtual(&t->pace, t->promise) < due)
		due = adv_pace_virtual(&t->pace, t->promise);
	if (due <= adv_pace_virtual(&t->pace, now))
		slipped = adv_pace_reached(&t->pace, due, now);
	if (!programs && !slipped && t->promise == UINT64_MAX)
		return;
	if (programs && !slipped && t->promise != UINT64_MAX && t->promise > now + RENEWED)
		return;
	t->promise = programs ? now + PROMISE : UINT64_MAX;
	adv_port_time_set(t->memory, t->pace.slipped, t->promise);
}

uint64_t adv_emulator_time_wake(const struct emulator_time *t)
{
	return t->promise == UINT64_MAX ? UINT64_MAX : t->promise - RENEWED;
}

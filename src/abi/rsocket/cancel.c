/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/cancel.h"

#include <pthread.h>

#include "base/clock.h"
#include "abi/rsocket/table.h"
#include "abi/verbs/wait.h"

static _Thread_local int state_before, type_before;

/* Both the state and the type: a cancellation sent before this call still looks at the type. */
void adv_rs_defer_cancel(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_before);
}

void adv_rs_restore_cancel(void)
{
	pthread_setcanceltype(type_before, NULL);
	pthread_setcancelstate(state_before, NULL);
}

struct adv_rsocket *adv_rs_begin(int fd)
{
	struct adv_rsocket *rs;

	adv_rs_defer_cancel();
	rs = adv_rs_get(fd);
	if (!rs)
		adv_rs_restore_cancel();
	return rs;
}

void adv_rs_end(struct adv_rsocket *rs)
{
	adv_rs_put(rs);
	adv_rs_restore_cancel();
}

int adv_rs_sleep(struct adv_rs_sleep *s)
{
	struct timespec ts = adv_clock_timespec((uint64_t)s->timeout_ms * 1000000);
	int found;

	s->cq = NULL;
	pthread_cleanup_push(s->abandon, s->arg);
	pthread_setcancelstate(state_before, NULL);
	/* ppoll() of libc waits until a cancellation that has begun arrives. Only libc can do that.
	 * librspreload does not replace ppoll(). */
	if (s->channel)
		found = adv_ibv_wait(s->channel, s->fds, s->count, s->timeout_ms, &s->cq);
	else
		found = ppoll(s->fds, s->count, s->timeout_ms < 0 ? NULL : &ts, NULL);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	return found;
}

/* Releases a recursive lock as often as this thread holds it: then the call fails. */
static void unlock_wholly(pthread_mutex_t *lock)
{
	while (pthread_mutex_unlock(lock) == 0)
		continue;
}

void adv_rs_abandon(struct adv_rsocket *rs)
{
	unlock_wholly(&rs->lock);
	unlock_wholly(&rs->recv_lock);
	unlock_wholly(&rs->send_lock);
	adv_rs_put(rs);
}

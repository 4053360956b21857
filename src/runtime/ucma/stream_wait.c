/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/stream_wait.h"

#include <sys/epoll.h>

#include "base/clock.h"

void adv_ucma_stream_watch(struct adv_ucma_stream *s, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = s};

	if (epoll_ctl(s->ucma->streams.epoll, EPOLL_CTL_MOD, s->fd, &e) < 0)
		(void)epoll_ctl(s->ucma->streams.epoll, EPOLL_CTL_ADD, s->fd, &e);
}

void adv_ucma_stream_unwatch(struct adv_ucma_stream *s)
{
	if (s->fd >= 0)
		(void)epoll_ctl(s->ucma->streams.epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

void adv_ucma_stream_set_timer(struct adv_ucma_stream *s, unsigned ms)
{
	struct adv_list *all = &s->ucma->streams.timed, *after;

	adv_list_del(&s->timed);
	if (!ms)
		return;
	s->due_ms = adv_clock_ms() + ms;
	for (after = all->prev; after != all; after = after->prev)
		if (adv_container_of(after, struct adv_ucma_stream, timed)->due_ms <= s->due_ms)
			break;
	adv_list_add(after, &s->timed);
}

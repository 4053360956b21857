/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What wakes the receiver of an iWARP connection. */
#include "runtime/device/streams_internal.h"

#include "base/sys.h"

int adv_device_stream_watch(struct device_stream *s, int op)
{
	struct epoll_event e = {.events = (s->flow[0].until ? 0 : EPOLLIN) |
					  (s->wants_room ? EPOLLOUT : 0),
				.data.ptr = s};

	return adv_sys_epoll_ctl(s->streams->link.receive_fd, op, s->fd, &e);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum {
	BACKLOG = 128,
	AT_ONCE = 16, /* connections, before the loop handles other things */
	PAUSE_MS = 100,
};

struct adv_acceptor {
	struct adv_loop *loop;
	struct adv_watch watch;
	struct adv_kit_timer pause;
	void (*accepted)(void *user, int fd);
	void *user;
	bool reported; /* that connections cannot be accepted */
};

static void go_on(struct adv_kit_timer *t)
{
	struct adv_acceptor *a = adv_container_of(t, struct adv_acceptor, pause);

	adv_loop_change(a->loop, &a->watch, EPOLLIN);
}

/* accept4() failed. */
static void pause_if_short(struct adv_acceptor *a)
{
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	/* Without descriptors or memory the connection stays in the queue: do not spin. */
	if (!a->reported)
		adv_error("cannot accept a connection: %s", strerror(errno));
	a->reported = true;
	adv_loop_change(a->loop, &a->watch, 0);
	adv_loop_start_timer(a->loop, &a->pause, PAUSE_MS);
}

static void accept_pending(struct adv_watch *w, uint32_t events)
{
	struct adv_acceptor *a = adv_container_of(w, struct adv_acceptor, watch);

	for (unsigned i = 0; i < AT_ONCE; i++) {
		int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			pause_if_short(a);
			return;
		}
		a->reported = false;
		a->accepted(a->user, fd);
	}
}

struct adv_acceptor *adv_acceptor_adopt(struct adv_loop *l, int fd,
					void (*accepted)(void *user, int fd), void *user)
{
	struct adv_acceptor *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return NULL;
	a->loop = l;
	a->accepted = accepted;
	a->user = user;
	a->watch = (struct adv_watch){fd, accept_pending};
	adv_kit_timer_init(&a->pause, go_on);
	if (adv_loop_watch(l, &a->watch, EPOLLIN) == 0)
		return a;
	err = errno;
	free(a);
	errno = err;
	return NULL;
}

struct adv_acceptor *adv_acceptor_create(struct adv_loop *l, const struct sockaddr *at,
					 void (*accepted)(void *user, int fd), void *user)
{
	struct adv_acceptor *a = NULL;
	socklen_t len = at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);
	int one = 1, err, fd = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, at, len) == 0 && listen(fd, BACKLOG) == 0)
		a = adv_acceptor_adopt(l, fd, accepted, user);
	err = errno;
	if (!a && fd >= 0)
		close(fd);
	errno = err;
	return a;
}

void adv_acceptor_destroy(struct adv_acceptor *a)
{
	adv_kit_timer_cancel(&a->pause);
	adv_loop_unwatch(a->loop, &a->watch);
	close(a->watch.fd);
	free(a);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmacm/rsocket_service.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "base/sys.h"
#include "rdmacm/rsocket_table.h"
#include "rdmacm/rsocket_wait.h"

#define IDLE_MS 3600000

struct service {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	int epoll_fd;
	int kick_fd;
	unsigned served;
	/* The rsocket numbers of the streams with keepalive. */
	int *keepalive;
	size_t keepalive_count;
};

static struct service service = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll_fd = -1,
	.kick_fd = -1,
};

/* Returns the seconds between keepalives: TCP_KEEPIDLE, or the system's value. */
static int idle_seconds(const struct adv_rsocket *rs)
{
	return rs->options.keepidle > 0 ? rs->options.keepidle : 7200;
}

/* Returns the n-th number of the list; -1: there is none. */
static int keepalive_at(size_t n)
{
	int fd;

	pthread_mutex_lock(&service.lock);
	fd = n < service.keepalive_count ? service.keepalive[n] : -1;
	pthread_mutex_unlock(&service.lock);
	return fd;
}

/* Sends the keepalives that are due. Returns the time until the next keepalive, ms. */
static int send_keepalives(void)
{
	int64_t next = IDLE_MS;
	int fd;

	for (size_t i = 0; (fd = keepalive_at(i)) >= 0; i++) {
		struct adv_rsocket *rs = adv_rs_find(fd);
		int64_t now = adv_rs_now(), left;

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		if (now >= rs->s.keepalive_at) {
			adv_rs_stream_post_keepalive(rs);
			rs->s.keepalive_at = now + idle_seconds(rs) * INT64_C(1000000);
		}
		left = (rs->s.keepalive_at - now) / 1000 + 1;
		pthread_mutex_unlock(&rs->lock);
		adv_rs_put(rs);
		if (left < next)
			next = left;
	}
	return (int)next;
}

static void serve_rsocket(int fd)
{
	struct adv_rsocket *rs = adv_rs_find(fd);

	if (!rs)
		return;
	rs->ops->on_readable(rs);
	adv_rs_put(rs);
}

/* Ends the thread if it serves no rsocket. */
static bool end_if_idle(void)
{
	bool end;

	pthread_mutex_lock(&service.lock);
	end = service.served == 0;
	if (end) {
		service.running = false;
		adv_sys_close(service.epoll_fd);
		adv_sys_close(service.kick_fd);
		pthread_detach(pthread_self());
	}
	pthread_mutex_unlock(&service.lock);
	return end;
}

static void *run_service(void *unused)
{
	struct epoll_event event;
	uint64_t count;

	do {
		/* One event at a time: handling it may close other rsockets. */
		if (adv_sys_epoll_wait(service.epoll_fd, &event, 1, send_keepalives()) != 1)
			continue;
		if (event.data.fd == service.kick_fd)
			(void)!adv_sys_read(service.kick_fd, &count, sizeof(count));
		else
			serve_rsocket(event.data.fd);
	} while (!end_if_idle());
	return NULL;
}

static void kick_thread(void)
{
	const uint64_t one = 1;

	(void)!adv_sys_write(service.kick_fd, &one, sizeof(one));
}

static int watch_descriptor(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return adv_sys_epoll_ctl(service.epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Starts the service thread. Service lock held. 0 or errno. */
static int start_thread(void)
{
	sigset_t all, before;
	int err = 0;

	service.epoll_fd = adv_sys_epoll_create(EPOLL_CLOEXEC);
	service.kick_fd = adv_sys_eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (service.epoll_fd < 0 || service.kick_fd < 0 || watch_descriptor(service.kick_fd))
		err = errno;
	if (!err) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		err = pthread_create(&service.thread, NULL, run_service, NULL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (err) {
		adv_error("rsockets: no service thread: error %d", err);
		adv_sys_close(service.epoll_fd);
		adv_sys_close(service.kick_fd);
		return err;
	}
	service.running = true;
	return 0;
}

int adv_rs_service_add(struct adv_rsocket *rs)
{
	int err = 0;

	pthread_mutex_lock(&service.lock);
	service.served++; /* from now on the thread does not end */
	if (!service.running)
		err = start_thread();
	if (!err && watch_descriptor(rs->fd))
		err = errno;
	if (err)
		service.served--;
	rs->served = !err;
	pthread_mutex_unlock(&service.lock);
	return err ? adv_rs_error(err) : 0;
}

static void drop_keepalive(int fd)
{
	for (size_t i = 0; i < service.keepalive_count; i++) {
		if (service.keepalive[i] == fd) {
			service.keepalive[i] = service.keepalive[--service.keepalive_count];
			break;
		}
	}
}

void adv_rs_service_remove(struct adv_rsocket *rs)
{
	struct epoll_event unused = {0};

	pthread_mutex_lock(&service.lock);
	if (rs->served) {
		rs->served = false;
		adv_sys_epoll_ctl(service.epoll_fd, EPOLL_CTL_DEL, rs->fd, &unused);
		drop_keepalive(rs->fd);
		if (--service.served == 0)
			kick_thread();
	}
	pthread_mutex_unlock(&service.lock);
}

void adv_rs_service_keepalive(struct adv_rsocket *rs)
{
	int *grown;

	pthread_mutex_lock(&service.lock);
	drop_keepalive(rs->fd);
	if (rs->options.keepalive) {
		rs->s.keepalive_at = adv_rs_now() + idle_seconds(rs) * INT64_C(1000000);
		grown = realloc(service.keepalive,
				(service.keepalive_count + 1) * sizeof(*service.keepalive));
		if (grown) {
			service.keepalive = grown;
			service.keepalive[service.keepalive_count++] = rs->fd;
		}
	}
	if (service.running)
		kick_thread();
	pthread_mutex_unlock(&service.lock);
}

void adv_rs_service_forget(void)
{
	pthread_mutex_init(&service.lock, NULL);
	if (service.running) {
		adv_sys_close(service.epoll_fd);
		adv_sys_close(service.kick_fd);
	}
	service.running = false;
	service.served = 0;
	service.keepalive_count = 0;
}

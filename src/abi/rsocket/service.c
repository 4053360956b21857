/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rsocket/service.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "base/sys.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define IDLE_MS 3600000

struct service {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running;
	int epoll_fd;
	int kick_fd;
	unsigned served; /* watched rsockets, and those with keepalives */
	struct adv_list keepalives;
};

static struct service service = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll_fd = -1,
	.kick_fd = -1,
	.keepalives = {&service.keepalives, &service.keepalives},
};

/* Returns the time between keepalives, us: TCP_KEEPIDLE, or the system's value. */
static int64_t idle_us(const struct adv_rsocket *rs)
{
	return (rs->options.keepidle > 0 ? rs->options.keepidle : 7200) * INT64_C(1000000);
}

/* Returns a stream whose keepalive is due, with a new reference, and sets its next time. NULL: none
 * is due, and *next is the time of the first one. */
static struct adv_rsocket *take_due(int64_t now, int64_t *next)
{
	struct adv_rsocket *rs = NULL;

	*next = now + IDLE_MS * INT64_C(1000);
	pthread_mutex_lock(&service.lock);
	adv_list_for_each(struct adv_rs_keepalive, k, &service.keepalives, link) {
		if (now >= k->at) {
			k->at = now + k->idle_us;
			rs = k->rs;
			adv_rs_hold(rs);
			break;
		}
		if (k->at < *next)
			*next = k->at;
	}
	pthread_mutex_unlock(&service.lock);
	return rs;
}

/* Sends the keepalives that are due. Returns the time until the next keepalive, ms. */
static int send_keepalives(void)
{
	int64_t now = adv_rs_now(), next;
	struct adv_rsocket *rs;

	while ((rs = take_due(now, &next)) != NULL) {
		pthread_mutex_lock(&rs->lock);
		adv_rs_stream_post_keepalive(rs);
		pthread_mutex_unlock(&rs->lock);
		adv_rs_put(rs);
	}
	return (int)((next - now) / 1000) + 1;
}

/* The number may have got another rsocket since it was readable. To read that one does no harm: it
 * does not block, and finds nothing or what has arrived. */
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

/* Counts one more thing to serve, so that the thread does not end. If there is none, starts it.
 * Service lock held. 0 or errno. */
static int begin_serving(void)
{
	int err = service.running ? 0 : start_thread();

	if (!err)
		service.served++;
	return err;
}

/* Service lock held. */
static void end_serving(void)
{
	if (--service.served == 0)
		kick_thread();
}

int adv_rs_service_add(struct adv_rsocket *rs)
{
	int err;

	pthread_mutex_lock(&service.lock);
	err = begin_serving();
	if (!err && watch_descriptor(rs->fd)) {
		err = errno;
		end_serving();
	}
	if (!err)
		rs->watched_fd = rs->fd;
	pthread_mutex_unlock(&service.lock);
	return err ? adv_rs_error(err) : 0;
}

void adv_rs_service_renumber(struct adv_rsocket *rs)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = rs->fd};

	pthread_mutex_lock(&service.lock);
	if (rs->watched_fd >= 0)
		adv_sys_epoll_ctl(service.epoll_fd, EPOLL_CTL_MOD, rs->watched_fd, &event);
	pthread_mutex_unlock(&service.lock);
}

/* Service lock held. */
static void end_watch(struct adv_rsocket *rs)
{
	struct epoll_event unused = {0};

	if (rs->watched_fd < 0)
		return;
	adv_sys_epoll_ctl(service.epoll_fd, EPOLL_CTL_DEL, rs->watched_fd, &unused);
	rs->watched_fd = -1;
	end_serving();
}

/* Service lock held. True: the caller releases the reference of the list. */
static bool end_keepalive(struct adv_rsocket *rs)
{
	struct adv_rs_keepalive *k = &rs->s.keepalive;

	if (!k->rs)
		return false;
	adv_list_del(&k->link);
	k->rs = NULL;
	end_serving();
	return true;
}

void adv_rs_service_unwatch(struct adv_rsocket *rs)
{
	pthread_mutex_lock(&service.lock);
	end_watch(rs);
	pthread_mutex_unlock(&service.lock);
}

void adv_rs_service_remove(struct adv_rsocket *rs)
{
	bool held;

	pthread_mutex_lock(&service.lock);
	end_watch(rs);
	held = rs->type == SOCK_STREAM && end_keepalive(rs);
	pthread_mutex_unlock(&service.lock);
	if (held)
		adv_rs_put(rs);
}

/* Service lock held. */
static void begin_keepalive(struct adv_rsocket *rs)
{
	struct adv_rs_keepalive *k = &rs->s.keepalive;

	if (!k->rs) {
		if (begin_serving())
			return;
		adv_rs_hold(rs);
		k->rs = rs;
		adv_list_add_tail(&service.keepalives, &k->link);
	}
	k->idle_us = idle_us(rs);
	k->at = adv_rs_now() + k->idle_us;
	kick_thread();
}

void adv_rs_service_keepalive(struct adv_rsocket *rs)
{
	bool held = false;

	pthread_mutex_lock(&service.lock);
	if (!rs->options.keepalive)
		held = end_keepalive(rs);
	else if (!rs->closed)
		begin_keepalive(rs);
	pthread_mutex_unlock(&service.lock);
	if (held)
		adv_rs_put(rs); /* the caller has another reference */
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
	adv_list_init(&service.keepalives);
}

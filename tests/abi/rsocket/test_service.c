/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The service thread of rsockets and the table of their numbers, without a device: an eventfd
 * stands for the descriptor of an rsocket. Keepalives are in virtual time.
 */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/rsocket/config.h"
#include "abi/rsocket/service.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define LIMIT_SEC   60
#define PATIENCE_MS 30000
#define IDLE_SEC    100

static _Atomic int64_t now_us = 1000000;
static atomic_uint readable, destroyed;
static atomic_uint keepalives_at[1024]; /* by number */

/* What the service calls. */

int64_t adv_rs_now(void)
{
	return now_us;
}

const struct adv_rs_config *adv_rs_config(void)
{
	static const struct adv_rs_config config;

	return &config;
}

void adv_rs_stream_post_keepalive(struct adv_rsocket *rs)
{
	assert(rs->type == SOCK_STREAM && rs->fd < 1024);
	atomic_fetch_add(&keepalives_at[rs->fd], 1);
}

static void count_readable(struct adv_rsocket *rs)
{
	uint64_t count;

	if (read(rs->fd, &count, sizeof(count)) == sizeof(count))
		atomic_fetch_add(&readable, 1);
}

static void count_destroyed(struct adv_rsocket *rs)
{
	close(rs->fd);
	atomic_fetch_add(&destroyed, 1);
}

static const struct adv_rs_ops ops = {.on_readable = count_readable, .destroy = count_destroyed};

/* Returns an rsocket that the thread serves; the table has the only reference. */
static struct adv_rsocket *make_served(int type)
{
	struct adv_rsocket *rs = adv_rs_new(AF_INET, type, &ops, NULL);

	assert_non_null(rs);
	assert_int_equal(adv_rs_enter(rs, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), 0);
	if (type == SOCK_STREAM)
		rs->s.state = ADV_RS_CONNECTED;
	assert_int_equal(adv_rs_service_add(rs), 0);
	adv_rs_put(rs);
	return rs;
}

static void set_keepalive(struct adv_rsocket *rs, int on)
{
	pthread_mutex_lock(&rs->lock);
	rs->options.keepalive = on;
	rs->options.keepidle = IDLE_SEC;
	adv_rs_service_keepalive(rs);
	pthread_mutex_unlock(&rs->lock);
}

/* As rclose(2). Returns the number. */
static int close_served(struct adv_rsocket *rs)
{
	unsigned before = destroyed;
	int fd = rs->fd;

	assert_ptr_equal(adv_rs_take(fd), rs);
	pthread_mutex_lock(&rs->lock);
	rs->closed = true;
	pthread_mutex_unlock(&rs->lock);
	adv_rs_service_remove(rs);
	adv_rs_put(rs);
	for (int i = 0; i < PATIENCE_MS && destroyed == before; i++)
		usleep(1000);
	assert_int_equal(destroyed, before + 1);
	return fd;
}

/* Lets the time pass, and waits until the rsocket `clock`, whose keepalives are on, has sent one.
 */
static void pass_time(struct adv_rsocket *clock)
{
	unsigned before = keepalives_at[clock->fd];
	struct adv_rsocket *other = make_served(SOCK_STREAM);

	now_us += IDLE_SEC * INT64_C(1000000) + 1;
	set_keepalive(other, 1); /* wakes the thread */
	close_served(other);
	for (int i = 0; i < PATIENCE_MS && keepalives_at[clock->fd] == before; i++)
		usleep(1000);
	assert_int_equal(keepalives_at[clock->fd], before + 1);
}

/* Tests that the time of keepalives ends with its stream, also if the thread did not watch it any
 * more. A datagram rsocket with the same number has other memory at the same place. */
static void test_number_used_again(void **state)
{
	struct adv_rsocket *clock = make_served(SOCK_STREAM), *stream = make_served(SOCK_STREAM);
	struct adv_rsocket *datagram;
	static const struct adv_rs_dgram untouched;
	int fd;

	set_keepalive(clock, 1);
	adv_rs_service_unwatch(stream); /* adverbd has ended; the connection lives on */
	set_keepalive(stream, 1);
	fd = close_served(stream);
	keepalives_at[fd] = 0;
	datagram = make_served(SOCK_DGRAM);
	assert_int_equal(datagram->fd, fd);
	pass_time(clock);
	assert_int_equal(keepalives_at[fd], 0);
	assert_memory_equal(&datagram->d, &untouched, sizeof(untouched));
	close_served(datagram);
	close_served(clock);
}

/* Tests that connections have keepalives after adverbd has ended, whether they began before. */
static void test_without_daemon(void **state)
{
	struct adv_rsocket *early = make_served(SOCK_STREAM), *late = make_served(SOCK_STREAM);

	set_keepalive(early, 1);
	keepalives_at[early->fd] = keepalives_at[late->fd] = 0;
	adv_rs_service_unwatch(early);
	adv_rs_service_unwatch(late);
	pass_time(early);
	set_keepalive(late, 1);
	pass_time(late);
	assert_int_equal(keepalives_at[early->fd], 2);
	set_keepalive(early, 0);
	pass_time(late);
	assert_int_equal(keepalives_at[early->fd], 2);
	close_served(early);
	close_served(late);
}

/* Tests that a keepalive that is set after the close keeps no reference. */
static void test_after_close(void **state)
{
	struct adv_rsocket *rs = make_served(SOCK_STREAM);
	unsigned before = destroyed;

	adv_rs_hold(rs);
	assert_ptr_equal(adv_rs_take(rs->fd), rs);
	rs->closed = true;
	adv_rs_service_remove(rs);
	adv_rs_put(rs);
	set_keepalive(rs, 1);
	adv_rs_put(rs);
	assert_int_equal(destroyed, before + 1);
}

/* Tests that the thread finds an rsocket by its new number. */
static void test_renumber(void **state)
{
	struct adv_rsocket *rs = make_served(SOCK_STREAM);
	int before = rs->fd, fd = dup(before);
	unsigned count = readable;
	const uint64_t one = 1;

	assert_int_equal(adv_rs_enter(rs, fd), 0);
	adv_rs_service_renumber(rs);
	assert_ptr_equal(adv_rs_take(before), rs);
	adv_rs_put(rs);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	for (int i = 0; i < PATIENCE_MS && readable == count; i++)
		usleep(1000);
	assert_int_equal(readable, count + 1);
	close_served(rs);
	close(before);
}

#define CHURNS 3000

static atomic_bool churns;

static void *wake_service(void *arg)
{
	while (churns) {
		now_us += IDLE_SEC * INT64_C(1000000) + 1;
		set_keepalive(arg, 1);
	}
	return NULL;
}

/* Tests that streams can be closed, and their numbers used again, while the thread sends
 * keepalives: ThreadSanitizer and AddressSanitizer see whether it uses one that is gone. */
static void test_close_beside_keepalives(void **state)
{
	struct adv_rsocket *clock = make_served(SOCK_STREAM);
	pthread_t waker;

	churns = true;
	assert_int_equal(pthread_create(&waker, NULL, wake_service, clock), 0);
	for (int i = 0; i < CHURNS; i++) {
		struct adv_rsocket *rs = make_served(i % 2 ? SOCK_DGRAM : SOCK_STREAM);

		if (rs->type == SOCK_STREAM)
			set_keepalive(rs, 1);
		close_served(rs);
	}
	churns = false;
	pthread_join(waker, NULL);
	close_served(clock);
}

static int start_clock(void **state)
{
	alarm(LIMIT_SEC);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_number_used_again, start_clock),
		cmocka_unit_test_setup(test_without_daemon, start_clock),
		cmocka_unit_test_setup(test_after_close, start_clock),
		cmocka_unit_test_setup(test_renumber, start_clock),
		cmocka_unit_test_setup(test_close_beside_keepalives, start_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

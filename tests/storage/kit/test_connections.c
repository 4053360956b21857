/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events of connections without end, from a librdmacm that is the test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "storage/kit/endpoint_internal.h"
#include "abi/verbs/wait.h"

enum { ROUNDS = 20, ENOUGH = 1000000 };

static struct rdma_event_channel channel;
static struct ibv_comp_channel completions;
static struct rdma_cm_id id, requested;
static struct rdma_cm_event event = {.id = &id, .event = RDMA_CM_EVENT_DISCONNECTED};
static int ready, completions_end; /* the other ends of the channels' pipes */
static unsigned events, rounds;
static struct adv_loop *loop;

/* A connection manager that ends, and what becomes of the connections. */
static struct world {
	struct adv_connections *c;
	unsigned requests; /* events */
	unsigned removals; /* of the listening id, after them */
	bool gone;	   /* and then the channel hangs up */
	int listen_error;
	unsigned listens, channels, ids; /* that exist */
	unsigned devices_gone, lost, again, failed;
	int error;
	struct ibv_cq cq;
	unsigned sleeps, cq_events;
} w;

/* --- librdmacm and libibverbs --- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "", 1), 1);
	channel.fd = fds[0];
	ready = fds[1];
	w.channels++;
	return &channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *c)
{
	close(c->fd);
	close(ready);
	w.channels--;
	w.gone = false;
}

int rdma_get_cm_event(struct rdma_event_channel *c, struct rdma_cm_event **out)
{
	if (++events == ENOUGH)
		fail_msg("the loop does nothing else");
	event.id = &id;
	if (w.requests > 0) {
		w.requests--;
		event.id = &requested;
		event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
	} else if (w.removals > 0) {
		w.removals--;
		event.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	} else if (w.c) {
		if (!w.gone)
			assert_int_equal(read(channel.fd, &(char){0}, 1), 1);
		errno = w.gone ? ENODEV : EAGAIN;
		return -1;
	}
	*out = &event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *e)
{
	return 0;
}

int rdma_reject(struct rdma_cm_id *refused, const void *data, uint8_t length)
{
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *gone)
{
	if (w.c && gone == &id)
		w.ids--;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *c, struct rdma_cm_id **out, void *context,
		   enum rdma_port_space ps)
{
	assert_false(w.gone);
	w.ids++;
	*out = &id;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *at, struct sockaddr *address)
{
	errno = w.listen_error;
	return w.listen_error ? -1 : 0;
}

int rdma_listen(struct rdma_cm_id *at, int backlog)
{
	w.listens++;
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *from, struct sockaddr *source, struct sockaddr *to, int ms)
{
	return -1;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
	static struct ibv_pd pd;

	return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *verbs)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	completions.fd = fds[0];
	completions_end = fds[1];
	return &completions;
}

/* The first sleep takes an event of a completion queue. */
int adv_ibv_wait(struct ibv_comp_channel *c, struct pollfd *fds, unsigned count, int timeout_ms,
		 struct ibv_cq **cq)
{
	assert_ptr_equal(c, &completions);
	assert_int_equal(w.devices_gone, 0);
	*cq = NULL;
	if (w.sleeps++ > 0)
		return poll(fds, count, timeout_ms) < 0 ? -1 : 0;
	*cq = &w.cq;
	fds[0].revents = fds[1].revents = 0;
	return 0;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	close(completions_end);
	return close(c->fd);
}

/* --- endpoints: there are none --- */

struct adv_endpoint *adv_endpoint_create(struct adv_loop *l, struct rdma_cm_id *of,
					 const struct adv_endpoint_config *config)
{
	return NULL;
}

void adv_endpoint_resolved(struct adv_endpoint *e, struct adv_kit_device *d)
{
}

void adv_endpoint_event(struct adv_endpoint *e, enum rdma_cm_event_type type,
			const struct rdma_conn_param *param)
{
}

void adv_endpoint_cq_event(struct ibv_cq *cq)
{
	assert_ptr_equal(cq, &w.cq);
	w.cq_events++;
}

bool adv_kit_device_event(struct adv_kit_device *d)
{
	return false;
}

/* --- the test --- */

static void count_round(struct adv_task *t)
{
	if (++rounds == ROUNDS)
		adv_loop_stop(loop);
	else
		adv_loop_defer(loop, t);
}

/* Peers that begin and end connections without end do not keep the loop from others. */
static void test_flood(void **state)
{
	static const struct adv_connections_ops ops = {NULL, NULL, NULL, NULL, NULL, 0};
	struct adv_connections *c;
	struct adv_task round;

	loop = adv_loop_create();
	c = adv_connections_create(loop, &ops, NULL);
	assert_non_null(c);
	adv_task_init(&round, count_round);
	adv_loop_defer(loop, &round);
	adv_loop_run(loop);
	adv_connections_destroy(c);
	adv_loop_destroy(loop);
	assert_int_equal(rounds, ROUNDS);
	assert_true(events >= ROUNDS - 1);
}

static bool use_device(void *user, struct adv_kit_device *d)
{
	return true;
}

static void leave_device(void *user, struct adv_kit_device *d)
{
}

/* The accept of a request fails: *user is the error. */
static void fail_request(void *user, struct adv_kit_device *d, struct rdma_cm_id *of,
			 const struct rdma_conn_param *param)
{
	errno = *(int *)user;
	if (++rounds == ROUNDS)
		adv_loop_stop(loop);
}

static int refused_for;

static void note_refusal(void *user, struct rdma_cm_id *of, int err)
{
	refused_for = err;
}

/* Returns why requests were refused whose accept fails with an error. */
static int refusal_of(int error)
{
	static const struct adv_connections_ops ops = {use_device,   leave_device, fail_request,
						       note_refusal, NULL,	   0};
	struct adv_connections *c;

	loop = adv_loop_create();
	c = adv_connections_create(loop, &ops, &error);
	assert_non_null(c);
	rounds = 0;
	event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
	adv_loop_run(loop);
	adv_connections_destroy(c);
	adv_loop_destroy(loop);
	return refused_for;
}

/* The user learns why a request is refused, or that the peer gave up. */
static void test_refusals(void **state)
{
	assert_int_equal(refusal_of(ENOMEM), ENOMEM);
	assert_int_equal(refusal_of(ECONNABORTED), ECONNABORTED);
}

static void leave_counted_device(void *user, struct adv_kit_device *d)
{
	w.devices_gone++;
}

static void ignore_request(void *user, struct adv_kit_device *d, struct rdma_cm_id *of,
			   const struct rdma_conn_param *param)
{
}

static void count_change(void *user, enum adv_connections_change change, int err)
{
	w.lost += change == ADV_CONNECTIONS_LOST;
	w.again += change == ADV_CONNECTIONS_AGAIN;
	w.failed += change == ADV_CONNECTIONS_FAILED;
	w.error = err;
	if (change != ADV_CONNECTIONS_LOST)
		adv_loop_stop(loop);
}

static void stop(struct adv_kit_timer *t)
{
	adv_loop_stop(loop);
}

/* Listens, has a device, and runs until something has changed, or for 0.4 s. */
static void run_world(bool gone, unsigned removals, int listen_error)
{
	static const struct adv_connections_ops ops = {use_device,     leave_counted_device,
						       ignore_request, note_refusal,
						       count_change,   .patience_ms = 250};
	struct sockaddr_in at = {.sin_family = AF_INET};
	struct adv_kit_timer guard;

	memset(&w, 0, sizeof(w));
	events = 0;
	loop = adv_loop_create();
	w.c = adv_connections_create(loop, &ops, NULL);
	assert_non_null(w.c);
	assert_int_equal(adv_connections_listen(w.c, (struct sockaddr *)&at), 0);
	w.gone = gone;
	w.requests = 1;
	w.removals = removals;
	w.listen_error = listen_error;
	adv_kit_timer_init(&guard, stop);
	adv_loop_start_timer(loop, &guard, 400);
	adv_loop_run(loop);
	adv_kit_timer_cancel(&guard);
}

static void end_world(void)
{
	adv_connections_destroy(w.c);
	adv_loop_destroy(loop);
	assert_int_equal(w.channels, 0);
	assert_int_equal(w.ids, 0);
	w.c = NULL;
}

/* The device of the address goes away and comes back: the channel stays. */
static void test_device_removed(void **state)
{
	run_world(false, 1, 0);
	assert_int_equal(w.lost, 1);
	assert_int_equal(w.again, 1);
	assert_int_equal(w.listens, 2);
	assert_int_equal(w.channels, 1);
	end_world();
}

/* The connection manager ends: there is a new channel, and the devices of the old one are gone. */
static void test_manager_ended(void **state)
{
	run_world(true, 1, 0);
	assert_int_equal(w.lost, 1);
	assert_int_equal(w.again, 1);
	assert_int_equal(w.listens, 2);
	assert_int_equal(w.channels, 1);
	assert_int_equal(w.devices_gone, 1);
	assert_true(events < 10);
	end_world();
}

/* The address cannot be listened at again, such as because another program has it. */
static void test_address_taken(void **state)
{
	run_world(true, 1, EADDRINUSE);
	assert_int_equal(w.again, 0);
	assert_int_equal(w.failed, 1);
	assert_int_equal(w.error, EADDRINUSE);
	assert_true(events < 100);
	end_world();
}

/* The loop sleeps by the device, which may have taken an event meanwhile. */
static void test_sleep(void **state)
{
	run_world(false, 0, 0);
	assert_int_equal(w.cq_events, 1);
	assert_in_range(w.sleeps, 2, 10);
	assert_int_equal(w.lost, 0);
	end_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flood),	       cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_device_removed), cmocka_unit_test(test_manager_ended),
		cmocka_unit_test(test_address_taken),  cmocka_unit_test(test_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

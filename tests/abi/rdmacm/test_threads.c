/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Many threads at once use their own ids and shared channels. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ends.h"

/* This event is newer than Debian's header. */
#define EVENT_USER ((enum rdma_cm_event_type)18)
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);

#define THREADS 4
#define ROUNDS	12

static uint16_t port;
static atomic_uint accepted, ended;

/* cmocka's assertions work in its own thread only. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what,              \
				strerror(errno));                                                  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){.cap = {2, 2, 1, 1, 0}, .qp_type = IBV_QPT_RC};
}

/* Connects and disconnects with synchronous calls. */
static void *connect_in_turn(void *arg)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_qp_init_attr attr = qp_attr();
		struct rdma_cm_id *id;

		MUST(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0);
		MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, PATIENCE_MS) == 0);
		MUST(rdma_resolve_route(id, PATIENCE_MS) == 0);
		MUST(rdma_create_qp(id, NULL, &attr) == 0);
		MUST(rdma_connect(id, NULL) == 0);
		MUST(rdma_disconnect(id) == 0);
		rdma_destroy_ep(id);
	}
	return NULL;
}

/* A thread that takes events of a channel which it shares with other threads. EVENT_USER ends it.
 */
static void *serve(void *arg)
{
	struct rdma_event_channel *channel = arg;
	struct rdma_cm_event *event;

	for (;;) {
		struct ibv_qp_init_attr attr = qp_attr();
		struct rdma_cm_id *id;
		enum rdma_cm_event_type type;

		MUST(rdma_get_cm_event(channel, &event) == 0);
		id = event->id;
		type = event->event;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			MUST(rdma_create_qp(id, NULL, &attr) == 0);
			MUST(rdma_accept(id, NULL) == 0);
			atomic_fetch_add(&accepted, 1);
		}
		MUST(rdma_ack_cm_event(event) == 0);
		if (type == RDMA_CM_EVENT_DISCONNECTED) {
			rdma_disconnect(id);
			rdma_destroy_qp(id);
			MUST(rdma_destroy_id(id) == 0);
			atomic_fetch_add(&ended, 1);
		}
		if (type == EVENT_USER)
			return NULL;
	}
}

static void servers_share_a_channel(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	pthread_t clients[THREADS], servers[2];
	struct rdma_cm_id *listener;

	assert_int_equal(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(listener, address("127.0.0.1", 0)), 0);
	assert_int_equal(rdma_listen(listener, 0), 0);
	port = ntohs(rdma_get_src_port(listener));
	atomic_store(&accepted, 0);
	atomic_store(&ended, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&servers[i], NULL, serve, channel);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&clients[i], NULL, connect_in_turn, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(clients[i], NULL);
	assert_int_equal(atomic_load(&accepted), THREADS * ROUNDS);
	for (int ms = 0; ms < PATIENCE_MS && atomic_load(&ended) < THREADS * ROUNDS; ms++)
		usleep(1000);
	assert_int_equal(atomic_load(&ended), THREADS * ROUNDS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rdma_write_cm_event(listener, EVENT_USER, 0, 0), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(servers[i], NULL);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
}

static atomic_bool stop;

static void *drain(void *arg)
{
	struct rdma_cm_event *event;

	while (!atomic_load(&stop)) {
		if (rdma_get_cm_event(arg, &event))
			continue;
		usleep(rand() % 300);
		rdma_ack_cm_event(event);
	}
	return NULL;
}

/* Ids are destroyed while another thread fetches, holds and acknowledges their events. */
static void destroying_beside_the_event_loop(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *last;
	pthread_t loop;

	atomic_store(&stop, false);
	pthread_create(&loop, NULL, drain, channel);
	for (int i = 0; i < 300; i++) {
		struct rdma_cm_id *id;

		assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
		assert_int_equal(rdma_resolve_addr(id, NULL, address("127.0.0.1", 9), 1000), 0);
		if (i % 3 == 0)
			usleep(rand() % 300);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	atomic_store(&stop, true);
	assert_int_equal(rdma_create_id(channel, &last, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(last, EVENT_USER, 0, 0), 0);
	pthread_join(loop, NULL);
	assert_int_equal(rdma_destroy_id(last), 0);
	rdma_destroy_event_channel(channel);
}

#define RACES 150

static struct rdma_cm_id *request_listener;
static _Atomic int newest[RACES]; /* the newest event of each client, + 1 */

/* Accepts and rejects requests by turns. The client of a request may be gone. EVENT_USER ends it.
 */
static void *answer_requests(void *arg)
{
	struct rdma_cm_event *event;

	for (unsigned count = 0;; count++) {
		struct ibv_qp_init_attr attr = qp_attr();
		struct rdma_cm_id *id;
		enum rdma_cm_event_type type;

		MUST(rdma_get_cm_event(arg, &event) == 0);
		id = event->id;
		type = event->event;
		MUST(rdma_ack_cm_event(event) == 0);
		if (type == EVENT_USER)
			return NULL;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST && count % 3 &&
		    rdma_create_qp(id, NULL, &attr) == 0 && rdma_accept(id, NULL) == 0)
			continue;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			(void)rdma_reject(id, NULL, 0);
		if (id == request_listener)
			continue;
		rdma_destroy_qp(id);
		MUST(rdma_destroy_id(id) == 0);
	}
}

/* Records the events of clients; their contexts are places of newest[]. */
static void *note_events(void *arg)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	do {
		MUST(rdma_get_cm_event(arg, &event) == 0);
		type = event->event;
		/* All clients connect with a queue pair, whatever happens to it later. */
		MUST(type != RDMA_CM_EVENT_CONNECT_RESPONSE);
		if (event->id->context)
			atomic_store((_Atomic int *)event->id->context, (int)type + 1);
		MUST(rdma_ack_cm_event(event) == 0);
	} while (type != EVENT_USER);
	return NULL;
}

static void wait_for_newest(int i, enum rdma_cm_event_type type)
{
	for (int ms = 0; ms < PATIENCE_MS && atomic_load(&newest[i]) != (int)type + 1; ms++)
		usleep(1000);
	assert_int_equal(atomic_load(&newest[i]), (int)type + 1);
}

static void race_once(struct rdma_event_channel *channel, int i)
{
	struct sockaddr *to = address("127.0.0.1", ntohs(rdma_get_src_port(request_listener)));
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, &newest[i], RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, to, PATIENCE_MS), 0);
	wait_for_newest(i, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(id, PATIENCE_MS), 0);
	wait_for_newest(i, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(rdma_connect(id, NULL), 0);
	usleep(i * 13 % 1500);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* Tests that a queue pair can be destroyed while another thread gets the event that changes its
 * state: the acceptance or the rejection. */
static void destroying_queue_pairs_beside_the_event_loop(void **state)
{
	struct rdma_event_channel *passive = rdma_create_event_channel();
	struct rdma_event_channel *active = rdma_create_event_channel();
	struct rdma_cm_id *last;
	pthread_t server, loop;

	assert_int_equal(rdma_create_id(passive, &request_listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(request_listener, address("127.0.0.1", 0)), 0);
	assert_int_equal(rdma_listen(request_listener, RACES), 0);
	pthread_create(&server, NULL, answer_requests, passive);
	pthread_create(&loop, NULL, note_events, active);
	for (int i = 0; i < RACES; i++)
		race_once(active, i);
	assert_int_equal(rdma_create_id(active, &last, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(last, EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_write_cm_event(request_listener, EVENT_USER, 0, 0), 0);
	pthread_join(loop, NULL);
	pthread_join(server, NULL);
	assert_int_equal(rdma_destroy_id(last), 0);
	assert_int_equal(rdma_destroy_id(request_listener), 0);
	rdma_destroy_event_channel(active);
	rdma_destroy_event_channel(passive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_share_a_channel),
		cmocka_unit_test(destroying_beside_the_event_loop),
		cmocka_unit_test(destroying_queue_pairs_beside_the_event_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nodes on a wire that loses, duplicates, reorders and delays MADs. A seed determines each run. The
 * test shows that every connection ends in a documented way, that events arrive once and in a legal
 * order, and that no id is left. The interfaces have different MTUs, so some requests are repeated
 * with a smaller MTU. ADV_CM_SIM_SEED=n runs only seed n; ADV_CM_SIM_SEEDS=n runs n seeds (default
 * 1,000).
 */
#include <endian.h>
#include <stdio.h>

#include "harness.h"

#define NODES	    3
#define CONNECTIONS 200
#define ENDS_MAX    4096
#define LIMIT	    (4000 * SEC) /* limit of virtual time; enough for about 8 MRAs of 275 s */

enum what { DELIVER, CONNECT, DECIDE, ESTABLISH, DISCONNECT, DESTROY, DIE };

/* An action planned for a time. */
struct action {
	uint64_t when;
	uint64_t order; /* order of actions at the same time */
	enum what what;
	unsigned node;
	unsigned end;
	struct adv_cm_mad mad;
};

/* One side of a connection as its consumer sees it. */
struct end {
	struct adv_cm_id *id; /* NULL: destroyed */
	unsigned node;
	unsigned life; /* the node's `life` when the id was made: a restart destroys older ids */
	unsigned peer; /* active: the node; passive: the end that sent the request */
	bool active;
	bool sidr;
	bool listening_peer;
	uint32_t qpn;
	uint32_t events; /* one bit for each event */
	int rejected;	 /* reason of the received REJ */
	bool connecting; /* an event is still expected */
	bool established;
};

struct sim {
	uint64_t seed;
	struct adv_rng rng;
	uint64_t now;
	uint64_t order;
	struct node node[NODES];
	unsigned life[NODES];
	bool mortal;	      /* true if a node restarts in this run */
	struct action **heap; /* from 1 */
	unsigned actions;
	unsigned room;
	struct end end[ENDS_MAX];
	unsigned ends;
	unsigned outcome[32];
};

#define CHECK(s, condition)                                                                        \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("ADV_CM_SIM_SEED=%llu: at %.3f s: not so: %s",                    \
				 (unsigned long long)(s)->seed, (double)(s)->now / 1e9,            \
				 #condition);                                                      \
	} while (0)

/* ---- planned events ---- */

static bool before(const struct action *a, const struct action *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

static struct action *plan(struct sim *s, uint64_t in, enum what what, unsigned node, unsigned end)
{
	struct action *a = calloc(1, sizeof(*a));
	unsigned i;

	assert_non_null(a);
	*a = (struct action){
		.when = s->now + in, .order = s->order++, .what = what, .node = node, .end = end};
	if (s->actions + 2 > s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = realloc(s->heap, s->room * sizeof(struct action *));
		assert_non_null(s->heap);
	}
	for (i = ++s->actions; i > 1 && before(a, s->heap[i / 2]); i /= 2)
		s->heap[i] = s->heap[i / 2];
	s->heap[i] = a;
	return a;
}

static struct action *next_action(struct sim *s)
{
	struct action *first = s->heap[1], *last = s->heap[s->actions--];
	unsigned i = 1, child;

	for (; (child = 2 * i) <= s->actions; i = child) {
		if (child < s->actions && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], last))
			break;
		s->heap[i] = s->heap[child];
	}
	s->heap[i] = last;
	return first;
}

static bool chance(struct sim *s, unsigned percent)
{
	return adv_rng_below(&s->rng, 100) < percent;
}

static uint64_t within(struct sim *s, uint64_t ns)
{
	return adv_rng_below(&s->rng, ns);
}

/* ---- the wire ---- */

static void send_on(struct sim *s, unsigned node, const struct adv_cm_mad *mad)
{
	unsigned to = mad->path.dgid.raw[15] - 1u, copies = chance(s, 3) ? 2 : 1;

	CHECK(s, to < NODES && mad->path.sgid.raw[15] == node + 1u);
	for (; copies > 0; copies--) {
		uint64_t delay = 50000 + within(s, 200000);

		if (chance(s, 5))
			continue;
		/* Some packets are delayed by seconds: they arrive after their retransmission. */
		if (chance(s, 5))
			delay += within(s, chance(s, 20) ? 3 * SEC : 300 * MS);
		plan(s, delay, DELIVER, to, 0)->mad = *mad;
	}
}

/* ---- consumers ---- */

static uint32_t new_qpn(struct sim *s)
{
	return 2 + (uint32_t)within(s, 0xfffff0);
}

static struct adv_cm_conn_param param_for(struct sim *s, unsigned end)
{
	struct adv_cm_conn_param param = conn_param(s->end[end].qpn, "");

	param.private_data_len = 8;
	memcpy(param.private_data, &end, sizeof(end));
	memcpy(param.private_data + 4, &s->end[end].qpn, 4);
	return param;
}

static unsigned new_end(struct sim *s, unsigned node, struct adv_cm_id *id)
{
	struct end *e = &s->end[s->ends];

	CHECK(s, s->ends < ENDS_MAX);
	*e = (struct end){.id = id, .node = node, .life = s->life[node], .qpn = new_qpn(s)};
	adv_cm_id_set_user(id, e);
	return s->ends++;
}

/* The MTU of each node's interface. */
static enum ibv_mtu mtu_of(unsigned node)
{
	static const enum ibv_mtu mtu[NODES] = {IBV_MTU_1024, IBV_MTU_4096, IBV_MTU_512};

	return mtu[node];
}

static enum ibv_mtu smaller(enum ibv_mtu a, enum ibv_mtu b)
{
	return a < b ? a : b;
}

static void listen_on(struct sim *s, unsigned node)
{
	listener(&s->node[node], RDMA_PS_TCP, chance(s, 50), chance(s, 20) ? 2 : 0);
	listener(&s->node[node], RDMA_PS_UDP, chance(s, 50), 0);
}

static void connect_one(struct sim *s, unsigned node)
{
	unsigned peer = (unsigned)within(s, NODES), end; /* the node may connect to itself */
	bool sidr = chance(s, 20), nobody = chance(s, 5);
	struct node *n = &s->node[node];
	struct adv_cm_addr local = addr_of(&n->gid, 0);
	struct adv_gid to = ipv4(peer + 1);
	struct adv_cm_addr remote = addr_of(&to, nobody ? PORT + 1 : PORT);
	struct adv_cm_route route = route_to(n, &s->node[peer]);
	struct adv_cm_conn_param param;
	struct adv_cm_id *id;

	id = new_id(n, sidr ? RDMA_PS_UDP : RDMA_PS_TCP);
	end = new_end(s, node, id);
	s->end[end].active = true;
	s->end[end].sidr = sidr;
	s->end[end].peer = peer;
	s->end[end].connecting = true;
	s->end[end].listening_peer = !nobody;
	route.mtu = mtu_of(node);
	CHECK(s, adv_cm_set_peer(id, &local, &remote) == 0);
	CHECK(s, adv_cm_set_route(id, &route) == 0);
	param = param_for(s, end);
	CHECK(s, adv_cm_connect(id, s->now, &param) == 0);
	CHECK(s, adv_cm_id_busy(id));
	if (chance(s, 5))
		plan(s, within(s, 2 * SEC), DESTROY, node, end);
}

static void destroy_end(struct sim *s, struct end *e)
{
	adv_cm_id_destroy(e->id, s->now);
	e->id = NULL;
	e->connecting = false;
}

static uint64_t thinking(struct sim *s)
{
	return chance(s, 80) ? within(s, 50 * MS) : within(s, 20 * SEC);
}

static void decide(struct sim *s, unsigned end)
{
	struct adv_cm_conn_param param = param_for(s, end);
	struct end *e = &s->end[end];
	int err;

	if (chance(s, 10)) {
		err = adv_cm_reject(e->id, s->now, 28, "no", 3);
		CHECK(s, err == 0 || err == EINVAL);
		e->connecting = false;
		destroy_end(s, e);
	} else if (chance(s, 5)) {
		destroy_end(s, e);
	} else {
		err = adv_cm_accept(e->id, s->now, &param);
		CHECK(s, err == 0 || (err == ECONNABORTED && e->rejected));
		e->connecting = err == 0 && !e->sidr;
	}
}

static void plan_end(struct sim *s, unsigned end)
{
	uint64_t in = within(s, 10 * SEC);

	plan(s, in, chance(s, 80) ? DISCONNECT : DESTROY, s->end[end].node, end);
}

/* ---- events ---- */

static uint32_t bit(enum rdma_cm_event_type type)
{
	return UINT32_C(1) << type;
}

static void check_order(struct sim *s, const struct end *e, const struct adv_cm_event *event)
{
	const uint32_t over = bit(RDMA_CM_EVENT_UNREACHABLE) | bit(RDMA_CM_EVENT_REJECTED) |
			      bit(RDMA_CM_EVENT_DISCONNECTED);

	CHECK(s, !(e->events & bit(event->type)));
	CHECK(s, !(e->events & bit(RDMA_CM_EVENT_TIMEWAIT_EXIT)));
	/* A timeout needs a dead peer: the number of transmissions is so large that one arrives,
	 * and a living peer answers. SIDR is an exception, because it has no MRA. */
	CHECK(s, event->status != -ETIMEDOUT || s->mortal || e->sidr);
	switch (event->type) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		CHECK(s, e->active && !e->sidr && !e->events);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		CHECK(s, e->sidr == e->active && !e->events);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		CHECK(s, !e->events);
		break;
	case RDMA_CM_EVENT_REJECTED:
		CHECK(s, !e->sidr && !e->established && event->status > 0);
		CHECK(s, !(e->events & over));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		CHECK(s, !e->sidr && !(e->events & over));
		CHECK(s, !e->active || e->events & bit(RDMA_CM_EVENT_CONNECT_RESPONSE));
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		CHECK(s, e->events & bit(RDMA_CM_EVENT_DISCONNECTED) || e->rejected);
		break;
	default:
		CHECK(s, !"an event that is not documented");
	}
}

/* Returns the end that sent the private data, which contains that end's index and its QP. */
static unsigned sender_of(struct sim *s, const struct adv_cm_event *event)
{
	unsigned end;

	memcpy(&end, event->param.private_data, sizeof(end));
	CHECK(s, end < s->ends);
	return end;
}

/* Checks the MTU of a request, as the daemon does before it delivers the request to a program. */
static bool mtu_fits(struct sim *s, unsigned node, const struct adv_cm_event *event)
{
	struct adv_cm_route route = {.mtu = mtu_of(node), .path.hop_limit = 64};
	int err = adv_cm_set_route(event->id, &route);

	if (err == 0)
		return true;
	CHECK(s, err == EMSGSIZE);
	CHECK(s, adv_cm_reject_mtu(event->id, s->now, route.mtu) == 0);
	adv_cm_id_destroy(event->id, s->now);
	return false;
}

static void on_request(struct sim *s, unsigned node, const struct adv_cm_event *event)
{
	unsigned asker = sender_of(s, event), end;
	struct end *e, *peer = &s->end[asker];

	if (!mtu_fits(s, node, event))
		return;
	end = new_end(s, node, event->id);
	e = &s->end[end];
	CHECK(s, event->listen && peer->active && peer->peer == node && peer->listening_peer);
	e->peer = asker;
	e->sidr = peer->sidr;
	e->connecting = true;
	CHECK(s, e->sidr || event->param.qp_num == peer->qpn);
	adv_cm_request_taken(event->id);
	plan(s, thinking(s), DECIDE, node, end);
}

static void on_event(struct sim *s, unsigned node, const struct adv_cm_event *event)
{
	struct end *e = adv_cm_id_user(event->id);
	unsigned end;

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		on_request(s, node, event);
		return;
	}
	CHECK(s, e && e->id == event->id && e->node == node);
	end = (unsigned)(e - s->end);
	check_order(s, e, event);
	e->events |= bit(event->type);
	s->outcome[event->type]++;
	switch (event->type) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		CHECK(s, event->param.qp_num == s->end[sender_of(s, event)].qpn);
		CHECK(s, adv_cm_id_route(e->id)->mtu == smaller(mtu_of(node), mtu_of(e->peer)));
		CHECK(s, s->end[sender_of(s, event)].peer == end);
		plan(s, thinking(s), ESTABLISH, node, end);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		e->connecting = false;
		e->established = true;
		if (e->sidr) {
			CHECK(s, event->param.qp_num == s->end[sender_of(s, event)].qpn);
			plan(s, within(s, SEC), DESTROY, node, end);
		} else {
			CHECK(s, adv_cm_id_route(e->id)->mtu ==
					 smaller(mtu_of(node), mtu_of(s->end[e->peer].node)));
			plan_end(s, end);
		}
		break;
	case RDMA_CM_EVENT_REJECTED:
		CHECK(s, event->status != ADV_CM_REJ_INVALID_MTU);
		e->rejected = event->status;
		/* fall through */
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DISCONNECTED:
		e->connecting = false;
		e->established = false;
		CHECK(s, !adv_cm_id_busy(e->id));
		if (chance(s, 50))
			plan(s, within(s, SEC), DESTROY, node, end);
		break;
	default:
		break;
	}
}

/* Handles a node's events and sends its MADs. Called after every call to a node. */
static void drain(struct sim *s, unsigned node)
{
	struct adv_cm_event event;
	struct adv_cm_mad mad;

	while (adv_cm_next_event(s->node[node].cm, &event))
		on_event(s, node, &event);
	while (adv_cm_tx(s->node[node].cm, s->now, &mad))
		send_on(s, node, &mad);
}

/* ---- steps ---- */

/* Restarts a node: it loses its whole state. */
static void die(struct sim *s, unsigned node)
{
	unsigned i;

	for (i = 0; i < s->ends; i++) {
		if (s->end[i].node == node && s->end[i].id) {
			s->end[i].id = NULL;
			s->end[i].connecting = false;
		}
	}
	node_close(&s->node[node]);
	s->life[node]++;
	node_open(&s->node[node], node + 1, adv_rng_next(&s->rng));
	listen_on(s, node);
}

static void establish(struct sim *s, unsigned end)
{
	struct end *e = &s->end[end];

	if (chance(s, 5)) {
		if (adv_cm_reject(e->id, s->now, 28, NULL, 0) == 0)
			e->connecting = false;
		return;
	}
	if (adv_cm_establish(e->id, s->now) == 0) {
		e->connecting = false;
		e->established = true;
		plan_end(s, end);
	} else {
		CHECK(s, e->rejected || e->events & bit(RDMA_CM_EVENT_DISCONNECTED));
	}
}

static void act(struct sim *s, const struct action *a)
{
	struct end *e = &s->end[a->end];

	if (a->what == DELIVER) {
		struct adv_rx_meta meta = {.sgid = a->mad.path.sgid, .dgid = a->mad.path.dgid};

		adv_cm_rx(s->node[a->node].cm, s->now, &meta, a->mad.data, sizeof(a->mad.data));
	} else if (a->what == CONNECT) {
		connect_one(s, a->node);
	} else if (a->what == DIE) {
		die(s, a->node);
	} else if (e->id && e->life == s->life[a->node]) {
		switch (a->what) {
		case DECIDE:
			decide(s, a->end);
			break;
		case ESTABLISH:
			establish(s, a->end);
			break;
		case DISCONNECT:
			CHECK(s, adv_cm_disconnect(e->id, s->now) == 0);
			break;
		default:
			destroy_end(s, e);
			break;
		}
	}
	drain(s, a->node);
}

static uint64_t first_deadline(struct sim *s, unsigned *node)
{
	uint64_t first = UINT64_MAX;
	unsigned i;

	for (i = 0; i < NODES; i++) {
		uint64_t t = adv_cm_deadline(s->node[i].cm);

		if (t < first) {
			first = t;
			*node = i;
		}
	}
	return first;
}

/* Runs the simulation until no packet and no timer is left. */
static void run(struct sim *s)
{
	unsigned node = 0;

	for (;;) {
		uint64_t deadline = first_deadline(s, &node);

		CHECK(s, s->now < LIMIT);
		if (s->actions && s->heap[1]->when <= deadline) {
			struct action *a = next_action(s);

			s->now = a->when;
			act(s, a);
			free(a);
		} else if (deadline != UINT64_MAX) {
			CHECK(s, deadline >= s->now);
			s->now = deadline;
			adv_cm_expire(s->node[node].cm, s->now);
			CHECK(s, adv_cm_deadline(s->node[node].cm) > s->now);
			drain(s, node);
		} else {
			return;
		}
	}
}

/* ---- checks at the end ---- */

static void check_pairs(struct sim *s)
{
	static unsigned accepted[ENDS_MAX];
	unsigned i;

	memset(accepted, 0, sizeof(accepted));
	for (i = 0; i < s->ends; i++) {
		const struct end *e = &s->end[i];

		CHECK(s, !e->connecting);
		if (!e->active && !e->sidr && e->events & bit(RDMA_CM_EVENT_ESTABLISHED))
			CHECK(s, ++accepted[e->peer] == 1);
	}
}

static void check_empty(struct sim *s, unsigned node)
{
	const struct adv_cm *cm = s->node[node].cm;

	CHECK(s, adv_cm_id_count(cm) == 0 && adv_cm_ending_count(cm) == 0);
	CHECK(s, adv_cm_busy_count(cm) == 0 && adv_cm_closing_count(cm) == 0);
	CHECK(s, cm->by_comm_id.count == 0 && cm->by_remote.count == 0 && cm->by_qpn.count == 0);
	CHECK(s, cm->ports.count == 0 && cm->hosts.count == 0);
	CHECK(s, cm->timers.count == 0 && cm->timers.reserved == 0);
	CHECK(s, adv_list_empty(&cm->events) && adv_list_empty(&cm->outgoing));
	CHECK(s, cm->counters.rx_malformed == 0);
}

static void destroy_all(struct sim *s)
{
	unsigned i;

	for (i = 0; i < NODES; i++) {
		struct adv_cm *cm = s->node[i].cm;
		struct adv_list *link = cm->ids.next;

		while (link != &cm->ids) {
			struct adv_cm_id *id = adv_container_of(link, struct adv_cm_id, link);

			link = link->next;
			CHECK(s, id->owned);
			adv_cm_id_destroy(id, s->now);
		}
		drain(s, i);
	}
}

static void simulate(uint64_t seed, unsigned *outcome)
{
	struct sim *s = calloc(1, sizeof(*s));
	unsigned i;

	assert_non_null(s);
	s->seed = seed;
	adv_rng_seed(&s->rng, seed);
	for (i = 0; i < NODES; i++) {
		node_open(&s->node[i], i + 1, adv_rng_next(&s->rng));
		listen_on(s, i);
	}
	for (i = 0; i < CONNECTIONS; i++)
		plan(s, within(s, 30 * SEC), CONNECT, (unsigned)within(s, NODES), 0);
	s->mortal = chance(s, 50);
	if (s->mortal)
		plan(s, within(s, 40 * SEC), DIE, (unsigned)within(s, NODES), 0);
	run(s);
	check_pairs(s);
	destroy_all(s);
	run(s);
	for (i = 0; i < NODES; i++) {
		check_empty(s, i);
		node_close(&s->node[i]);
	}
	for (i = 0; i < 32; i++)
		outcome[i] += s->outcome[i];
	free(s->heap);
	free(s);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void test_seeds(void **state)
{
	uint64_t seeds = number_from("ADV_CM_SIM_SEEDS", 1000);
	uint64_t first = number_from("ADV_CM_SIM_SEED", 0), seed;
	unsigned outcome[32] = {0}, i;

	if (getenv("ADV_CM_SIM_SEED"))
		seeds = 1;
	for (seed = first; seed < first + seeds; seed++)
		simulate(seed, outcome);
	for (i = 0; i < 32; i++)
		if (outcome[i])
			print_message("event %2u: %8u\n", i, outcome[i]);
	assert_true(outcome[RDMA_CM_EVENT_ESTABLISHED] > 100 * seeds);
	assert_true(outcome[RDMA_CM_EVENT_REJECTED] > 0);
	assert_true(outcome[RDMA_CM_EVENT_DISCONNECTED] > 50 * seeds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests_name("cm simulation", tests, NULL, NULL);
}

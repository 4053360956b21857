/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "net.h"

#include "base/fnv.h"

struct adv_cable cable_of(unsigned metres)
{
	return (struct adv_cable){GBPS_100, metres * 5000ull};
}

static void note(void *user, const struct adv_fabric_event *e)
{
	struct net *n = user;
	const uint64_t word[] = {e->at, (uint64_t)e->kind << 32 | e->what,
				 (uint64_t)e->node << 32 | (uint32_t)e->port << 8 | e->priority,
				 e->value};

	for (unsigned i = 0; i < 4; i++)
		n->digest = adv_fnv_add(n->digest, word[i]);
	if (e->kind == ADV_FABRIC_SWITCH)
		n->events[e->what]++;
}

void net_open(struct net *n)
{
	adv_fabric_defaults(&n->config);
	n->config.topology = &n->t;
	n->config.seed = 1;
	n->unwatched = false;
	n->digest = 1;
	memset(n->events, 0, sizeof(n->events));
}

void net_start(struct net *n)
{
	n->f = adv_fabric_create(&n->config);
	assert_non_null(n->f);
	if (!n->unwatched)
		adv_fabric_watch(n->f, note, n);
}

void net_conserved(const struct net *n)
{
	uint64_t sent = 0, received = 0, inside = 0, outside, bytes, drops = 0;

	for (uint32_t h = 0; h < n->t.hosts; h++) {
		const struct adv_fabric_host_counters *c = adv_fabric_host_counters(n->f, h);

		sent += c->tx_frames;
		received += c->rx_frames + c->rx_dropped;
	}
	for (uint32_t s = 0; s < n->t.switches; s++) {
		const struct adv_switch_counters *c =
			adv_switch_counters(adv_fabric_switch(n->f, s));

		for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
			drops += c->drops[i];
		inside += c->rx_frames - c->tx_frames;
		assert_int_equal(c->rx_bytes - c->tx_bytes - c->dropped_bytes,
				 adv_switch_used(adv_fabric_switch(n->f, s)));
	}
	adv_fabric_outside(n->f, &outside, &bytes);
	assert_int_equal(sent,
			 received + (inside - drops) + outside + drops + adv_fabric_lost(n->f));
	if (!n->unwatched)
		assert_int_equal(n->events[ADV_SWITCH_DROP], drops);
}

void net_close(struct net *n)
{
	net_conserved(n);
	adv_fabric_destroy(n->f);
	adv_topology_free(&n->t);
}

uint32_t net_connect(struct net *n, uint32_t from, uint32_t to, enum adv_fabric_operation operation,
		     uint8_t dscp)
{
	struct adv_fabric_connection c = {
		.initiator = from, .target = to, .operation = operation, .dscp = dscp};
	int64_t number = adv_fabric_connect(n->f, &c);

	assert_true(number >= 0);
	return (uint32_t)number;
}

uint32_t net_write(struct net *n, uint32_t from, uint32_t to, uint8_t dscp, uint64_t bytes)
{
	uint32_t c = net_connect(n, from, to, ADV_FABRIC_WRITE, dscp);
	int64_t number = adv_fabric_transfer(n->f, c, bytes, adv_fabric_now(n->f));

	assert_true(number >= 0);
	return (uint32_t)number;
}

uint64_t net_drops(const struct net *n, enum adv_drop why)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < n->t.switches; s++)
		sum += adv_switch_counters(adv_fabric_switch(n->f, s))->drops[why];
	return sum;
}

uint64_t net_all_drops(const struct net *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ADV_DROP_REASONS; i++)
		sum += net_drops(n, i);
	return sum;
}

void net_all_done(const struct net *n, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct adv_fabric_transfer_state *t = adv_fabric_get_transfer(n->f, i);

		assert_int_equal(t->status, IBV_WC_SUCCESS);
		assert_int_equal(t->done, t->bytes);
		assert_true(t->end != ADV_CALENDAR_NEVER && t->end >= t->start);
	}
}

void net_open_deadlock(struct net *n)
{
	assert_int_equal(adv_topology_ring(&n->t, 4, 2, cable_of(2), cable_of(20)), 0);
	assert_int_equal(adv_topology_ring_one_way(&n->t), 0);
	net_open(n);
	net_start(n);
	for (uint32_t h = 0; h < 8; h++)
		net_write(n, h, (h + 4) % 8, 26, UINT64_MAX);
}

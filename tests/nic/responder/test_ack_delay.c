/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ACKs that are delayed until the program's next request. */
#include "../engine/harness.h"
#include "nic/responder/ack.h"

#define DELAY  (20 * US)
#define ROUNDS 10u

struct peers {
	struct net *net;
	struct end *end[2];
	struct region *region[2];
};

/* Counts of sent packets by node and kind, and the time of the last packet of each kind. */
static struct {
	unsigned writes[2];
	unsigned acks[2];
	uint64_t write_at[2];
	uint64_t ack_at[2];
	uint8_t last[2][2]; /* opcodes of the last two packets of each node */
} seen;

static void watch(struct net *net, struct wire *w)
{
	seen.last[w->from][0] = seen.last[w->from][1];
	seen.last[w->from][1] = w->h.bth.opcode;
	if (w->h.bth.opcode == ADV_OP_ACKNOWLEDGE) {
		seen.acks[w->from]++;
		seen.ack_at[w->from] = w->sent;
	} else {
		seen.writes[w->from]++;
		seen.write_at[w->from] = w->sent;
	}
}

static void begin_config(struct peers *p, const struct adv_engine_config *config)
{
	struct options o = options_default(IBV_QPT_RC);

	memset(&seen, 0, sizeof(seen));
	p->net = net_open_config(2, config);
	p->net->hook = watch;
	pair_open(p->net, &o, &p->end[0], &p->end[1]);
	for (unsigned i = 0; i < 2; i++)
		p->region[i] = region_open(&p->net->node[i], 4096, ALL_ACCESS);
}

static void begin(struct peers *p, uint64_t delay)
{
	struct adv_engine_config config = {.seed = {1, 2, 3, 4}, .ack_delay = delay};

	begin_config(p, &config);
}

static void end(struct peers *p)
{
	net_run(p->net, SEC);
	net_close(p->net);
}

static void post(struct peers *p, unsigned from, uint64_t wr_id)
{
	end_op(p->end[from], IBV_WR_RDMA_WRITE, wr_id, p->region[from], 0, 8, p->region[!from], 8);
}

/* Runs until node `from` has sent `writes` WRITEs in total, and all have arrived. */
static void arrive(struct peers *p, unsigned from, unsigned writes)
{
	while (seen.writes[from] < writes)
		assert_true(net_step(p->net, p->net->now + SEC));
	net_run(p->net, NET_DELAY);
}

/* Runs rounds in which each node answers a WRITE of the other node `pause` ns after its arrival. */
static void play(struct peers *p, unsigned rounds, uint64_t pause)
{
	for (unsigned i = 0; i < rounds; i++) {
		unsigned from = i % 2;
		uint64_t until;

		post(p, from, i);
		arrive(p, from, seen.writes[from] + 1);
		until = p->net->now + pause;
		net_run(p->net, pause);
		if (p->net->now < until)
			p->net->now = until;
	}
}

/* After some rounds the ACK is delayed and sent at the same time as the answer. */
static void test_answers_overtake(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, ROUNDS, 1 * US);
	post(&p, ROUNDS % 2, ROUNDS);
	net_run(p.net, 0);
	assert_int_equal(seen.write_at[ROUNDS % 2], seen.ack_at[ROUNDS % 2]);
	net_run(p.net, SEC);
	assert_int_equal(seen.writes[0] + seen.writes[1], ROUNDS + 1);
	assert_int_equal(seen.acks[0] + seen.acks[1], ROUNDS + 1);
	for (unsigned i = 0; i <= ROUNDS; i++)
		expect_send(p.end[i % 2], i / 2, i, IBV_WC_SUCCESS);
	end(&p);
}

/* Makes both nodes one machine: each has the addresses of both. */
static void make_neighbours(struct net *net)
{
	struct adv_engine_gid gids[4];

	for (unsigned i = 0; i < 4; i++)
		gids[i] = (struct adv_engine_gid){net->node[i / 2].gid[i % 2], 4096, false};
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(adv_engine_set_gids(net->node[i].e, gids, 4), 0);
}

/* Returns the number of packets of the batch with an answer whose ACK is delayed. */
static unsigned packets_of_answer(bool local_memory, bool neighbours)
{
	struct adv_engine_config config = {
		.seed = {1, 2, 3, 4}, .ack_delay = DELAY, .local_memory = local_memory};
	const unsigned from = ROUNDS % 2;
	struct adv_tx_batch *batch;
	struct adv_engine *e;
	struct peers p;
	unsigned n, all;

	begin_config(&p, &config);
	if (neighbours)
		make_neighbours(p.net);
	play(&p, ROUNDS, 1 * US);
	post(&p, from, ROUNDS);
	arrive(&p, from, seen.writes[from] + 1);
	post(&p, !from, ROUNDS + 1);
	e = p.net->node[!from].e;
	batch = &p.net->batch;
	n = all = adv_engine_tx(e, p.net->now, batch);
	assert_int_not_equal(batch->packet[0].header[0] & ADV_OP_MASK, ADV_OP_ACKNOWLEDGE);
	while (adv_engine_tx_ready(e))
		all += adv_engine_tx(e, p.net->now, batch);
	assert_int_equal(all, 2);
	assert_int_equal(batch->packet[batch->count - 1].header[0] & ADV_OP_MASK,
			 ADV_OP_ACKNOWLEDGE);
	net_abandon(p.net);
	return n;
}

/* Over shared memory the answer is sent without waiting for the ACK. Otherwise both are in one
 * batch. */
static void test_answer_goes_alone(void **state)
{
	assert_int_equal(packets_of_answer(true, true), 1);
	assert_int_equal(packets_of_answer(true, false), 2);
	assert_int_equal(packets_of_answer(false, true), 2);
}

/* If the answer completes a receive at the peer, the ACK is sent before it, as by a NIC, unless
 * both share a datagram. */
static void test_sends_after_acks(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, ROUNDS, 1 * US);
	end_recv(p.end[1], 77, p.region[1], 64, 8);
	end_op(p.end[0], IBV_WR_SEND, 7, p.region[0], 0, 8, NULL, 0);
	net_run(p.net, DELAY / 2);
	assert_int_equal(seen.last[0][0], ADV_OP_ACKNOWLEDGE);
	assert_int_equal(seen.last[0][1], ADV_OP_SEND_ONLY);
	post(&p, 1, 8);
	net_run(p.net, DELAY / 2);
	assert_int_equal(seen.last[1][0], ADV_OP_WRITE_ONLY);
	assert_int_equal(seen.last[1][1], ADV_OP_ACKNOWLEDGE);
	end(&p);
}

static uint64_t time_of_ack(struct peers *p, unsigned from)
{
	uint64_t came;
	unsigned acks = seen.acks[!from];

	post(p, from, 1000);
	arrive(p, from, seen.writes[from] + 1);
	came = p->net->now;
	while (seen.acks[!from] == acks)
		assert_true(net_step(p->net, p->net->now + SEC));
	return seen.ack_at[!from] - came;
}

/* If no answer follows, the ACK is sent at its deadline, and the next ACK at once. */
static void test_waits_exactly(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, ROUNDS, 1 * US);
	assert_int_equal(time_of_ack(&p, ROUNDS % 2), DELAY);
	assert_int_equal(time_of_ack(&p, ROUNDS % 2), 0);
	end(&p);
}

/* If all answers are late, no ACK is delayed. */
static void test_slow_answers(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, ROUNDS, DELAY + 1);
	assert_int_equal(time_of_ack(&p, ROUNDS % 2), 0);
	end(&p);
}

/* An occasional late answer changes nothing. If most answers are late, ACKs are not delayed. */
static void test_late_answer(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, 2 * ROUNDS, 1 * US);
	play(&p, 2, DELAY + 1);
	assert_int_equal(time_of_ack(&p, 0), DELAY);
	play(&p, 2 * ROUNDS, DELAY + 1);
	assert_int_equal(time_of_ack(&p, 0), 0);
	end(&p);
}

/* ACKs are not delayed if the program only receives, or if several messages arrive before it
 * answers. */
static void test_streams(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_int_equal(time_of_ack(&p, 0), 0);
	play(&p, ROUNDS, 1 * US);
	post(&p, 0, 2000);
	arrive(&p, 0, seen.writes[0] + 1);
	assert_true(seen.ack_at[1] != p.net->now);
	post(&p, 0, 2001);
	arrive(&p, 0, seen.writes[0] + 1);
	net_run(p.net, 0);
	assert_int_equal(seen.ack_at[1], p.net->now);
	end(&p);
}

/* If ack_delay is 0, no ACK is delayed. */
static void test_off(void **state)
{
	struct peers p;

	begin(&p, 0);
	play(&p, ROUNDS, 1 * US);
	assert_int_equal(time_of_ack(&p, ROUNDS % 2), 0);
	end(&p);
}

/* adv_engine_hasten_acks() ends all delays. A caller uses it before it exits. */
static void test_hastened(void **state)
{
	struct peers p;
	struct adv_engine *e;

	begin(&p, DELAY);
	e = p.net->node[1 - ROUNDS % 2].e;
	assert_false(adv_engine_hasten_acks(e));
	play(&p, ROUNDS, 1 * US);
	post(&p, ROUNDS % 2, ROUNDS);
	arrive(&p, ROUNDS % 2, seen.writes[ROUNDS % 2] + 1);
	assert_false(adv_engine_tx_ready(e));
	assert_true(adv_engine_hasten_acks(e));
	assert_true(adv_engine_tx_ready(e));
	net_run(p.net, 0);
	assert_int_equal(seen.ack_at[1 - ROUNDS % 2], p.net->now);
	assert_false(adv_engine_hasten_acks(e));
	end(&p);
}

/* A QP that is reset or destroyed while its ACK is delayed leaves no entry in the engine. */
static void test_reset_while_waiting(void **state)
{
	struct peers p;

	begin(&p, DELAY);
	play(&p, ROUNDS, 1 * US);
	post(&p, ROUNDS % 2, ROUNDS);
	arrive(&p, ROUNDS % 2, seen.writes[ROUNDS % 2] + 1);
	assert_true(adv_responder_ack_deadline(p.net->node[1 - ROUNDS % 2].e) != ADV_NEVER);
	assert_true(adv_engine_firm_deadline(p.net->node[1 - ROUNDS % 2].e) >
		    adv_responder_ack_deadline(p.net->node[1 - ROUNDS % 2].e));
	assert_int_equal(end_to_state(p.end[1 - ROUNDS % 2], IBV_QPS_RESET), 0);
	assert_int_equal(adv_responder_ack_deadline(p.net->node[1 - ROUNDS % 2].e), ADV_NEVER);
	net_run(p.net, DELAY * 2);
	net_abandon(p.net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_overtake), cmocka_unit_test(test_answer_goes_alone),
		cmocka_unit_test(test_sends_after_acks), cmocka_unit_test(test_waits_exactly),
		cmocka_unit_test(test_slow_answers),	 cmocka_unit_test(test_late_answer),
		cmocka_unit_test(test_streams),		 cmocka_unit_test(test_off),
		cmocka_unit_test(test_hastened),	 cmocka_unit_test(test_reset_while_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

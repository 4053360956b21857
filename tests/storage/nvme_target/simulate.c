/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host against the target, with connections that break at any step. Each end notices a loss at
 * a time of its own, and what the backend executes then goes on. Checks that the host sees no
 * completion twice, that every command ends, and that no acknowledged write is lost.
 *
 * simulate FIRST LAST: the seeds to run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "storage/nvme/host.h"
#include "storage/nvme/host_queue.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/target.h"

enum { BLOCKS = 8, BLOCK = 512, CONNECTIONS = 512, HELD = 512, OPS = 6, FIFO = 256, IO_QUEUES = 2 };
enum { STEPS = 4000, QUIET_STEPS = 200000 };
#define NQN "nqn.2026-01.test:disk"

/* A command of the application: one write at a time for each block. */
struct op {
	bool busy, write, started;
	unsigned block;
	uint64_t version; /* of a write; of a read: the acknowledged one at its start */
	uint8_t data[BLOCK];
};

struct message {
	bool to_target;
	uint8_t capsule[ADV_NVME_COMMAND_LEN + BLOCK];
	size_t len;
	uint64_t address; /* of data that precedes a response */
	uint8_t *data;
	uint32_t data_len;
};

struct connection {
	struct world *world;
	struct adv_nvme_queue *target;	  /* NULL: destroyed */
	struct adv_nvme_host_queue *host; /* NULL: the host has given it up */
	uint16_t qid;
	bool broken;	      /* messages are lost */
	bool target_notified; /* of the loss */
	struct message *fifo[FIFO];
	unsigned first, count;
};

struct world {
	uint64_t seed, now;
	struct adv_rng rng;
	struct adv_nvme_target *target;
	struct adv_nvme_outbox outbox;
	struct adv_nvme_host host;
	struct adv_nvme_host_config config;
	struct connection *connections[CONNECTIONS];
	unsigned connection_count;
	int current[IO_QUEUES + 1]; /* the host's connections by qid; -1: none */
	bool ready, calm;
	struct adv_nvme_request *held[HELD];
	uint64_t held_until[HELD]; /* steps: some requests of the backend are slow */
	uint64_t steps;
	unsigned held_count;
	uint8_t disk[BLOCKS * BLOCK];
	uint64_t acked[BLOCKS], next_version;
	struct op ops[OPS];
	unsigned losses, writes, reads;
};

static struct op internal; /* marks the host's own commands */

static void fail_seed(const struct world *w, const char *what)
{
	fprintf(stderr, "seed %llu: %s\n", (unsigned long long)w->seed, what);
	abort();
}

static bool chance(struct world *w, unsigned in)
{
	return adv_rng_below(&w->rng, in) == 0;
}

/* --- connections --- */

static void push(struct connection *c, struct message *m)
{
	if (c->broken) {
		free(m->data);
		free(m);
		return;
	}
	if (c->count == FIFO)
		fail_seed(c->world, "more messages than the queues allow");
	c->fifo[(c->first + c->count++) % FIFO] = m;
}

/* The host leaves its controller: all its connections break. */
static void host_gives_up(struct world *w)
{
	struct op *op;

	for (unsigned i = 0; i <= IO_QUEUES; i++) {
		struct connection *c;

		if (w->current[i] < 0)
			continue;
		c = w->connections[w->current[i]];
		c->broken = true;
		while ((op = adv_nvme_host_queue_next_lost(c->host)) != NULL)
			op->started = false; /* it is repeated */
		adv_nvme_host_queue_destroy(c->host);
		c->host = NULL;
		w->current[i] = -1;
	}
	w->ready = false;
	adv_nvme_host_init(&w->host, &w->config);
}

static void open_connection(struct world *w)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct adv_nvme_cm_request cm = {.qid = w->host.qid,
					 .hrqsize = w->host.size,
					 .hsqsize = (uint16_t)(w->host.size - 1)};
	uint8_t private_data[ADV_NVME_CM_LEN];
	struct adv_nvme_queue_config config = {.private_data = private_data,
					       .private_data_len = sizeof(private_data),
					       .outbox = &w->outbox,
					       .user = c,
					       .adrfam = ADV_NVME_IPV4,
					       .local_address = "192.0.2.1",
					       .now = w->now};

	if (!c || w->connection_count == CONNECTIONS)
		fail_seed(w, "too many connections");
	adv_nvme_cm_request_encode(&cm, private_data);
	c->world = w;
	c->qid = w->host.qid;
	c->host = adv_nvme_host_queue_create(w->host.size);
	if (!c->host || adv_nvme_queue_create(w->target, &config, &c->target) != ADV_NVME_CM_OK)
		fail_seed(w, "no queue");
	w->current[c->qid] = (int)w->connection_count;
	w->connections[w->connection_count++] = c;
	adv_nvme_host_opened(&w->host, NULL);
}

/* --- the host --- */

/* False: the queue is full. */
static bool send_command(struct connection *c, struct adv_nvme_command *command, void *user,
			 const uint8_t *data, uint32_t len)
{
	struct message *m;

	command->psdt = 1;
	command->sgl = (struct adv_nvme_sgl){.id = ADV_NVME_SGL_KEYED, .length = len};
	/* Addresses are those of the host's memory, which is there as long as the connection. */
	command->sgl.address = (uintptr_t)data;
	if (c->qid && adv_nvme_command_direction(command) == ADV_NVME_TO_CONTROLLER &&
	    len <= BLOCK && chance(c->world, 2)) {
		command->sgl.id = ADV_NVME_SGL_OFFSET;
		command->sgl.address = 0;
	}
	if (adv_nvme_host_queue_start(c->host, command, user) != 0)
		return false;
	m = calloc(1, sizeof(*m));
	m->to_target = true;
	m->len = ADV_NVME_COMMAND_LEN;
	if (command->sgl.id == ADV_NVME_SGL_OFFSET) {
		memcpy(m->capsule + m->len, data, len);
		m->len += len;
	}
	adv_nvme_command_encode(command, m->capsule);
	push(c, m);
	return true;
}

static void host_step(struct world *w)
{
	switch (adv_nvme_host_next(&w->host, w->now)) {
	case ADV_NVME_HOST_OPEN:
		open_connection(w);
		break;
	case ADV_NVME_HOST_COMMAND:
		if (!send_command(w->connections[w->current[w->host.qid]], &w->host.command,
				  &internal, w->host.data, w->host.data_length))
			fail_seed(w, "the queue is full");
		break;
	case ADV_NVME_HOST_READY:
		w->ready = true;
		break;
	case ADV_NVME_HOST_FAILED:
		/* The target has not noticed the loss of an old queue, or this one has just broken.
		 */
		host_gives_up(w);
		break;
	case ADV_NVME_HOST_WAIT:
		break;
	}
}

static bool block_has_write(const struct world *w, unsigned block)
{
	for (unsigned i = 0; i < OPS; i++) {
		if (w->ops[i].busy && w->ops[i].write && w->ops[i].block == block)
			return true;
	}
	return false;
}

static void new_op(struct world *w, struct op *op)
{
	op->block = (unsigned)adv_rng_below(&w->rng, BLOCKS);
	op->write = chance(w, 2);
	if (block_has_write(w, op->block))
		return;
	op->busy = true;
	op->started = false;
	op->version = op->write ? ++w->next_version : 0;
	for (unsigned i = 0; i < BLOCK; i += 8)
		memcpy(op->data + i, &op->version, 8);
}

static void start_op(struct world *w, struct op *op)
{
	unsigned qid = 1 + (unsigned)adv_rng_below(&w->rng, w->host.io_queues);
	struct adv_nvme_command command = {.opcode = op->write ? ADV_NVME_WRITE : ADV_NVME_READ,
					   .nsid = 1};

	if (!op->write)
		op->version = w->acked[op->block];
	adv_nvme_command_set_blocks(&command, op->block, 1);
	if (send_command(w->connections[w->current[qid]], &command, op, op->data, BLOCK))
		op->started = true;
}

static void application_step(struct world *w)
{
	struct op *op = &w->ops[adv_rng_below(&w->rng, OPS)];

	if (!op->busy && !w->calm)
		new_op(w, op);
	if (op->busy && !op->started && w->ready)
		start_op(w, op);
}

static void op_done(struct world *w, struct op *op, const struct adv_nvme_completion *completion)
{
	uint64_t version;

	if (completion->status != ADV_NVME_SUCCESS) {
		op->started = false; /* aborted with its controller; it is repeated */
		return;
	}
	memcpy(&version, op->data, 8);
	/* A write may have begun or ended since the read began: any version from then on is right.
	 */
	if (!op->write && version < op->version)
		fail_seed(w, "a read returned data older than an acknowledged write");
	if (op->write) {
		w->acked[op->block] = op->version;
		w->writes++;
	} else {
		w->reads++;
	}
	op->busy = false;
}

static void deliver_to_host(struct connection *c, const struct message *m)
{
	struct world *w = c->world;
	struct adv_nvme_completion completion;
	struct op *op;

	if (!c->host)
		return;
	if (m->data_len)
		memcpy((void *)(uintptr_t)m->address, m->data, m->data_len);
	if (!adv_nvme_completion_decode(m->capsule, m->len, &completion))
		fail_seed(w, "a response has a wrong length");
	op = adv_nvme_host_queue_end(c->host, &completion);
	if (!op)
		fail_seed(w, "a completion of no outstanding command");
	if (op == &internal)
		adv_nvme_host_completed(&w->host, w->now, &completion);
	else
		op_done(w, op, &completion);
}

/* --- the target's binding --- */

static uint16_t execute(struct world *w, const struct adv_nvme_io *io)
{
	if (io->kind == ADV_NVME_IO_READ)
		memcpy(io->data, w->disk + io->offset, io->length);
	else if (io->kind == ADV_NVME_IO_WRITE)
		memcpy(w->disk + io->offset, io->data, io->length);
	return ADV_NVME_SUCCESS;
}

static void respond(struct connection *c, const struct adv_nvme_request *r)
{
	struct message *m = calloc(1, sizeof(*m));

	m->len = sizeof(r->response);
	memcpy(m->capsule, r->response, sizeof(r->response));
	m->address = r->remote.address;
	m->data_len = r->write_length;
	if (m->data_len) {
		m->data = malloc(m->data_len);
		memcpy(m->data, r->data, m->data_len);
	}
	push(c, m);
}

static void finish_held(struct world *w, unsigned index)
{
	struct adv_nvme_request *r = w->held[index];
	struct connection *c = adv_nvme_queue_user(r->queue);
	bool ok = !c->broken;

	w->held[index] = w->held[--w->held_count];
	w->held_until[index] = w->held_until[w->held_count];
	switch (r->action) {
	case ADV_NVME_ACTION_BUFFER:
		if (adv_nvme_request_may_place(r) && chance(w, 2))
			adv_nvme_request_placed(r, w->now, w->disk + r->io.offset);
		else if (adv_nvme_request_may_find(r) && chance(w, 2))
			adv_nvme_request_found(r, w->now, w->disk + r->io.offset);
		else
			adv_nvme_request_buffered(r, w->now, malloc(r->buffer_length));
		break;
	case ADV_NVME_ACTION_FETCH:
		/* A READ that fails may have written whole blocks before. */
		if (ok || chance(w, 2))
			memcpy(r->data, (void *)(uintptr_t)r->remote.address, r->data_length);
		adv_nvme_request_fetched(r, w->now, ok);
		break;
	case ADV_NVME_ACTION_SUBMIT:
		adv_nvme_request_executed(r, w->now, execute(w, &r->io));
		break;
	default:
		free(r->buffer);
		free(r->receive);
		adv_nvme_request_sent(r, w->now);
		break;
	}
}

static void act(struct world *w)
{
	struct adv_nvme_request *r;
	struct adv_nvme_queue *q;
	enum adv_nvme_action action;

	while ((action = adv_nvme_outbox_next(&w->outbox, &q, &r)) != ADV_NVME_ACTION_NONE) {
		struct connection *c = adv_nvme_queue_user(q);

		if (action == ADV_NVME_ACTION_CLOSE) {
			c->broken = c->target_notified = true;
			adv_nvme_queue_closed(q, w->now);
		} else if (action == ADV_NVME_ACTION_FREE) {
			c->target = NULL;
			adv_nvme_queue_destroy(q);
		} else if (action == ADV_NVME_ACTION_RELEASE) {
			free(r->buffer);
			free(r->receive);
		} else {
			if (action == ADV_NVME_ACTION_RESPOND)
				respond(c, r);
			if (w->held_count == HELD)
				fail_seed(w, "too many requests");
			w->held_until[w->held_count] = w->steps;
			if ((action == ADV_NVME_ACTION_SUBMIT || r->placed) && chance(w, 16))
				w->held_until[w->held_count] += adv_rng_below(&w->rng, 3000);
			w->held[w->held_count++] = r;
		}
	}
}

static void deliver_to_target(struct connection *c, const struct message *m)
{
	uint8_t *capsule = malloc(m->len);

	memcpy(capsule, m->capsule, m->len);
	if (!c->target || !adv_nvme_queue_rx(c->target, c->world->now, capsule, m->len, capsule))
		free(capsule);
}

static void deliver(struct connection *c)
{
	struct message *m;

	if (c->count == 0)
		return;
	m = c->fifo[c->first];
	c->first = (c->first + 1) % FIFO;
	c->count--;
	if (!c->broken && m->to_target)
		deliver_to_target(c, m);
	else if (!c->broken)
		deliver_to_host(c, m);
	free(m->data);
	free(m);
}

/* --- steps --- */

static void random_step(struct world *w)
{
	struct connection *c = NULL;
	unsigned index = 0;

	w->steps++;
	if (w->connection_count) {
		unsigned recent = w->connection_count < 8 ? w->connection_count : 8;

		c = w->connections[w->connection_count - 1 - adv_rng_below(&w->rng, recent)];
	}
	w->now += adv_rng_below(&w->rng, 2000000);
	switch (adv_rng_below(&w->rng, 8)) {
	case 0:
	case 1:
		host_step(w);
		break;
	case 2:
		application_step(w);
		break;
	case 3:
		if (w->held_count)
			index = (unsigned)adv_rng_below(&w->rng, w->held_count);
		if (w->held_count && w->held_until[index] <= w->steps)
			finish_held(w, index);
		break;
	case 4:
		if (c && !w->calm && chance(w, 40) && !c->broken) {
			c->broken = true;
			w->losses++;
		}
		break;
	case 5: /* an end notices */
		if (c && c->broken && c->host && chance(w, 2))
			host_gives_up(w);
		else if (c && c->broken && !c->target_notified) {
			c->target_notified = true;
			if (c->target)
				adv_nvme_queue_closed(c->target, w->now);
		}
		break;
	default:
		if (c)
			deliver(c);
		break;
	}
	act(w);
}

static bool quiet(const struct world *w)
{
	for (unsigned i = 0; i < OPS; i++) {
		if (w->ops[i].busy)
			return false;
	}
	return true;
}

/* Both ends close everything. */
static void end_all(struct world *w)
{
	host_gives_up(w);
	adv_nvme_target_close_all(w->target);
	act(w);
	while (w->held_count) {
		finish_held(w, 0);
		act(w);
	}
	for (unsigned i = 0; i < w->connection_count; i++) {
		if (w->connections[i]->target)
			fail_seed(w, "a queue did not end");
		while (w->connections[i]->count)
			deliver(w->connections[i]);
		free(w->connections[i]);
	}
}

static void check_disk(const struct world *w)
{
	for (unsigned b = 0; b < BLOCKS; b++) {
		uint64_t version;

		memcpy(&version, w->disk + b * BLOCK, 8);
		if (version != w->acked[b])
			fail_seed(w, "an acknowledged write is lost");
	}
}

static void run_seed(uint64_t seed, unsigned *losses, unsigned *writes)
{
	static struct world w;
	struct adv_nvme_target_config target = {.io_queues = IO_QUEUES, .queue_size = 8};
	struct adv_nvme_namespace_config ns = {.blocks = BLOCKS, .block_shift = 9};
	struct adv_nvme_target_counts counts;
	struct adv_nvme_subsystem *subsystem;
	unsigned steps;
	uint32_t nsid;

	memset(&w, 0, sizeof(w));
	w.seed = seed;
	adv_rng_seed(&w.rng, seed);
	w.target = adv_nvme_target_create(&target);
	adv_nvme_outbox_init(&w.outbox);
	ns.backend = w.disk;
	if (!w.target || adv_nvme_target_add_subsystem(w.target, NQN, "1", &subsystem) != 0 ||
	    adv_nvme_subsystem_add_namespace(subsystem, 0, &ns, &nsid) != 0)
		fail_seed(&w, "no target");
	w.config = (struct adv_nvme_host_config){.subsystem_nqn = NQN,
						 .host_nqn = "nqn.2026-01.test:host",
						 .io_queues = IO_QUEUES,
						 .queue_size = 4};
	for (unsigned i = 0; i <= IO_QUEUES; i++)
		w.current[i] = -1;
	adv_nvme_host_init(&w.host, &w.config);
	for (steps = 0; steps < STEPS && w.connection_count < CONNECTIONS / 2; steps++)
		random_step(&w);
	w.calm = true;
	for (steps = 0; steps < QUIET_STEPS && !quiet(&w); steps++)
		random_step(&w);
	if (!quiet(&w))
		fail_seed(&w, "a command does not end");
	end_all(&w);
	check_disk(&w);
	adv_nvme_target_count(w.target, &counts);
	if (counts.queues || counts.controllers)
		fail_seed(&w, "the target did not free everything");
	adv_nvme_target_destroy(w.target);
	*losses += w.losses;
	*writes += w.writes;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
	unsigned losses = 0, writes = 0;

	for (uint64_t seed = first; seed <= last; seed++)
		run_seed(seed, &losses, &writes);
	printf("seeds %llu to %llu: %u losses of connections, %u writes\n",
	       (unsigned long long)first, (unsigned long long)last, losses, writes);
	return losses == 0 || writes == 0;
}

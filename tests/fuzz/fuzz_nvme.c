/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is private data of a connection and steps, of 72 bytes each, with a target: capsules
 * with any bytes, lost connections, work of the binding that ends late or fails, time that passes.
 * Checks that no memory outside a buffer is used, that everything ends when the queues close, and
 * that decoded structures are encoded again.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/nvme/command.h"
#include "storage/nvme_target/target.h"

enum { QUEUES = 4, HELD = 1024, STEP = 72, BLOCKS = 64 };

struct world {
	struct adv_nvme_target *target;
	struct adv_nvme_subsystem *subsystem;
	struct adv_nvme_outbox outbox;
	struct adv_nvme_queue *queues[QUEUES];
	struct adv_nvme_request *held[HELD];
	unsigned held_count;
	uint64_t now;
	bool hold;
	uint8_t disk[BLOCKS * 512];
};

static void use_io(const struct world *w, const struct adv_nvme_io *io, bool data)
{
	FUZZ_CHECK(io->backend == w->disk);
	FUZZ_CHECK(io->offset <= sizeof(w->disk) && io->length <= sizeof(w->disk) - io->offset);
	FUZZ_CHECK(io->kind != ADV_NVME_IO_COPY ||
		   (io->length > 0 && io->source <= sizeof(w->disk) - io->length));
	if (data && io->kind == ADV_NVME_IO_READ)
		memset(io->data, 1, io->length);
	if (data && (io->kind == ADV_NVME_IO_WRITE || io->kind == ADV_NVME_IO_COMPARE))
		FUZZ_CHECK(io->data[0] + io->data[io->length - 1] >= 0);
}

/* Fills fetched data: Connect data that the target accepts, so that commands get further. */
static void fetch(const struct world *w, struct adv_nvme_request *r)
{
	struct adv_nvme_connect_data data = {.cntlid = r->remote.address & 1 ? 1
									     : ADV_NVME_ANY_CNTLID,
					     .subsystem_nqn = "nqn.2026-01.test:disk",
					     .host_nqn = "nqn.2026-01.test:host"};

	memset(r->data, (int)r->remote.address, r->data_length);
	for (uint32_t i = 0;
	     r->command.opcode == ADV_NVME_COPY && i < r->data_length / ADV_NVME_SOURCE_LEN; i++) {
		const struct adv_nvme_source source = {(r->remote.address >> 3) % BLOCKS + i, 1};

		adv_nvme_source_encode(&source, r->data + (size_t)i * ADV_NVME_SOURCE_LEN);
	}
	if (r->data_length != ADV_NVME_CONNECT_LEN)
		return;
	if (r->remote.address & 2)
		memcpy(data.subsystem_nqn, ADV_NVME_DISCOVERY_NQN, sizeof(ADV_NVME_DISCOVERY_NQN));
	adv_nvme_connect_data_encode(&data, r->data);
}

static void carry_out(struct world *w, struct adv_nvme_request *r, bool ok)
{
	uint8_t *buffer;

	switch (r->action) {
	case ADV_NVME_ACTION_BUFFER:
		FUZZ_CHECK(r->buffer_length > 0 &&
			   r->buffer_length <= adv_nvme_target_transfer_max(w->target));
		if (adv_nvme_request_may_place(r) && r->remote.address & 4) {
			use_io(w, &r->io, false);
			FUZZ_CHECK(r->io.length == r->buffer_length);
			adv_nvme_request_placed(r, w->now, w->disk + r->io.offset);
			break;
		}
		if (adv_nvme_request_may_find(r) && r->remote.address & 4) {
			use_io(w, &r->io, false);
			adv_nvme_request_found(r, w->now, w->disk + r->io.offset);
			break;
		}
		buffer = malloc(r->buffer_length);
		FUZZ_CHECK(buffer != NULL);
		adv_nvme_request_buffered(r, w->now, buffer);
		break;
	case ADV_NVME_ACTION_FETCH:
		fetch(w, r);
		adv_nvme_request_fetched(r, w->now, ok);
		break;
	case ADV_NVME_ACTION_SUBMIT:
		use_io(w, &r->io, true);
		adv_nvme_request_executed(r, w->now, ok ? 0 : 0x280);
		break;
	default:
		free(r->buffer);
		free(r->receive);
		adv_nvme_request_sent(r, w->now);
		break;
	}
}

/* True if the request writes to the namespace until it ends. */
static bool changes_blocks(const struct adv_nvme_request *r)
{
	return r->action == ADV_NVME_ACTION_SUBMIT
		       ? r->io.kind != ADV_NVME_IO_READ && r->io.kind != ADV_NVME_IO_COMPARE &&
				 r->io.kind != ADV_NVME_IO_FLUSH
		       : r->action == ADV_NVME_ACTION_FETCH && r->placed;
}

/* Holds a request. No other one that is held changes the same blocks. */
static void hold(struct world *w, struct adv_nvme_request *r)
{
	for (unsigned i = 0; i < w->held_count && changes_blocks(r); i++) {
		const struct adv_nvme_io *io = &w->held[i]->io;

		FUZZ_CHECK(!changes_blocks(w->held[i]) ||
			   io->offset >= r->io.offset + r->io.length ||
			   r->io.offset >= io->offset + io->length);
	}
	w->held[w->held_count++] = r;
}

static void act(struct world *w)
{
	struct adv_nvme_request *r;
	struct adv_nvme_queue *q;
	enum adv_nvme_action action;

	while ((action = adv_nvme_outbox_next(&w->outbox, &q, &r)) != ADV_NVME_ACTION_NONE) {
		struct adv_nvme_queue **slot = adv_nvme_queue_user(q);

		if (action == ADV_NVME_ACTION_CLOSE) {
			adv_nvme_queue_closed(q, w->now);
		} else if (action == ADV_NVME_ACTION_FREE) {
			*slot = NULL;
			adv_nvme_queue_destroy(q);
		} else if (action == ADV_NVME_ACTION_RELEASE) {
			free(r->buffer);
			free(r->receive);
		} else if (w->hold && w->held_count < HELD) {
			hold(w, r);
		} else {
			carry_out(w, r, true);
		}
	}
}

static void release_one(struct world *w, unsigned which, bool ok)
{
	struct adv_nvme_request *r;

	if (!w->held_count)
		return;
	which %= w->held_count;
	r = w->held[which];
	w->held[which] = w->held[--w->held_count];
	carry_out(w, r, ok);
}

static void open_queue(struct world *w, unsigned i, const uint8_t *private_data, size_t len)
{
	struct adv_nvme_queue_config config = {.private_data = private_data,
					       .private_data_len = len,
					       .outbox = &w->outbox,
					       .user = &w->queues[i],
					       .adrfam = ADV_NVME_IPV4,
					       .local_address = "192.0.2.1",
					       .now = w->now};

	if (!w->queues[i] &&
	    adv_nvme_queue_create(w->target, &config, &w->queues[i]) != ADV_NVME_CM_OK)
		w->queues[i] = NULL;
}

static void send_capsule(struct world *w, unsigned i, const uint8_t *data, size_t extra)
{
	uint8_t *capsule = malloc(ADV_NVME_COMMAND_LEN + extra);

	FUZZ_CHECK(capsule != NULL);
	memcpy(capsule, data, ADV_NVME_COMMAND_LEN);
	memset(capsule + ADV_NVME_COMMAND_LEN, data[40], extra);
	if (!w->queues[i] || !adv_nvme_queue_rx(w->queues[i], w->now, capsule,
						ADV_NVME_COMMAND_LEN + extra, capsule))
		free(capsule);
}

static void step(struct world *w, const uint8_t data[STEP])
{
	unsigned i = data[1] % QUEUES;

	w->hold = data[2] & 1;
	switch (data[0] % 8) {
	case 0:
		open_queue(w, i, data + 8, 32);
		break;
	case 1:
		if (w->queues[i])
			adv_nvme_queue_closed(w->queues[i], w->now);
		break;
	case 2:
		release_one(w, data[3], data[2] & 2);
		break;
	case 3:
		w->now += (uint64_t)data[3] << 26;
		adv_nvme_target_expire(w->target, w->now);
		if (data[4] == 0x5a && w->subsystem) {
			adv_nvme_target_remove_subsystem(w->subsystem);
			w->subsystem = NULL;
		}
		adv_nvme_target_next_released(w->target);
		break;
	default:
		send_capsule(w, i, data + 8, data[3] & 1 ? (size_t)data[4] * 16 : 0);
		break;
	}
	act(w);
}

/* Reports are lines that a terminal may show. */
static void check_reports(struct adv_nvme_target *target)
{
	char text[ADV_NVME_REPORT_TEXT];
	struct adv_nvme_report r;

	while (adv_nvme_target_next_report(target, &r)) {
		adv_nvme_report_print(&r, text, sizeof(text));
		for (const char *c = text; *c; c++)
			FUZZ_CHECK(*c >= ' ' && *c <= '~');
	}
}

static void run_target(const uint8_t *data, size_t size)
{
	struct adv_nvme_target_config config = {.io_queues = 2, .queue_size = 8, .controllers = 3};
	struct adv_nvme_namespace_config ns = {.blocks = BLOCKS, .block_shift = 9};
	struct adv_nvme_target_counts counts;
	static struct world w;
	uint32_t nsid;

	memset(&w, 0, sizeof(w));
	w.target = adv_nvme_target_create(&config);
	FUZZ_CHECK(w.target && adv_nvme_target_add_subsystem(w.target, "nqn.2026-01.test:disk", "1",
							     &w.subsystem) == 0);
	ns.backend = w.disk;
	FUZZ_CHECK(adv_nvme_subsystem_add_namespace(w.subsystem, 0, &ns, &nsid) == 0);
	FUZZ_CHECK(adv_nvme_target_add_port(w.target, ADV_NVME_IPV4, "0.0.0.0", "4420") == 0);
	adv_nvme_outbox_init(&w.outbox);
	for (; size >= STEP; data += STEP, size -= STEP)
		step(&w, data);
	adv_nvme_target_close_all(w.target);
	w.hold = false;
	act(&w);
	while (w.held_count) {
		release_one(&w, 0, true);
		act(&w);
	}
	check_reports(w.target);
	adv_nvme_target_count(w.target, &counts);
	FUZZ_CHECK(counts.queues == 0 && counts.controllers == 0);
	adv_nvme_target_destroy(w.target);
}

static void run_codecs(const uint8_t *data, size_t size)
{
	uint8_t out[ADV_NVME_IDENTIFY_LEN], page[ADV_NVME_IDENTIFY_LEN] = {0};
	uint32_t nsids[ADV_NVME_LIST_MAX];
	struct adv_nvme_identify_controller id, id_again;
	struct adv_nvme_command command, again;
	struct adv_nvme_completion completion;
	struct adv_nvme_discovery_entry entry;
	struct adv_nvme_connect_data connect;

	memset(&command, 0, sizeof(command));
	memset(&again, 0, sizeof(again));
	if (adv_nvme_command_decode(data, size, &command)) {
		adv_nvme_command_encode(&command, out);
		FUZZ_CHECK(adv_nvme_command_decode(out, ADV_NVME_COMMAND_LEN, &again));
		FUZZ_CHECK(memcmp(&command, &again, sizeof(command)) == 0);
	}
	if (adv_nvme_completion_decode(data, size, &completion))
		adv_nvme_completion_encode(&completion, out);
	memcpy(page, data, size < sizeof(page) ? size : sizeof(page));
	adv_nvme_identify_controller_decode(page, &id);
	adv_nvme_identify_controller_encode(&id, out);
	adv_nvme_identify_controller_decode(out, &id_again);
	FUZZ_CHECK(strcmp(id.model, id_again.model) == 0 &&
		   strcmp(id.subnqn, id_again.subnqn) == 0);
	adv_nvme_identify_list_decode(page, nsids);
	adv_nvme_discovery_entry_decode(page, &entry);
	adv_nvme_connect_data_decode(page, &connect);
	adv_nvme_nqn_valid(connect.host_nqn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_codecs(data, size);
	run_target(data, size);
	return 0;
}

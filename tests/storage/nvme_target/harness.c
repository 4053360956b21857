/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "harness.h"

void lab_create(struct lab *lab, const struct adv_nvme_target_config *config)
{
	struct adv_nvme_namespace_config ns = {
		.blocks = LAB_BLOCKS, .block_shift = LAB_SHIFT, .uuid = {0xad, 0xbb}};

	memset(lab, 0, sizeof(*lab));
	lab->now = 1000;
	lab->memory = calloc(1, LAB_MEMORY);
	lab->disk = calloc(LAB_BLOCKS, 1u << LAB_SHIFT);
	assert_true(lab->memory && lab->disk);
	adv_nvme_outbox_init(&lab->outbox);
	lab->target = adv_nvme_target_create(config);
	assert_non_null(lab->target);
	assert_int_equal(adv_nvme_target_add_subsystem(lab->target, LAB_NQN, "S1", &lab->subsystem),
			 0);
	ns.backend = lab->disk;
	assert_int_equal(
		adv_nvme_subsystem_add_namespace(lab->subsystem, lab->now, &ns, &lab->nsid), 0);
	assert_int_equal(adv_nvme_target_add_port(lab->target, ADV_NVME_IPV4, "0.0.0.0", "4420"),
			 0);
}

void lab_destroy(struct lab *lab)
{
	struct adv_nvme_target_counts counts;

	lab_run(lab);
	adv_nvme_target_count(lab->target, &counts);
	assert_int_equal(counts.queues, 0);
	assert_int_equal(counts.controllers, 0);
	assert_int_equal(lab->held_count, 0);
	assert_int_equal(lab->receives, 0);
	assert_int_equal(lab->buffers, 0);
	adv_nvme_target_destroy(lab->target);
	free(lab->memory);
	free(lab->disk);
}

int lab_setup(void **state)
{
	static struct lab lab;
	struct adv_nvme_target_config config = {0};

	lab_create(&lab, &config);
	*state = &lab;
	return 0;
}

int lab_teardown(void **state)
{
	lab_destroy(*state);
	return 0;
}

static uint16_t execute(struct lab *lab, const struct adv_nvme_io *io)
{
	uint8_t *at = (uint8_t *)io->backend + io->offset;

	if (lab->backend_status != ADV_NVME_SUCCESS)
		return lab->backend_status;
	lab->fuas += io->fua;
	switch (io->kind) {
	case ADV_NVME_IO_READ:
		memcpy(io->data, at, io->length);
		break;
	case ADV_NVME_IO_WRITE:
		memcpy(at, io->data, io->length);
		break;
	case ADV_NVME_IO_COPY:
		memmove(at, (uint8_t *)io->backend + io->source, io->length);
		break;
	case ADV_NVME_IO_COMPARE:
		return memcmp(at, io->data, io->length) ? ADV_NVME_COMPARE_FAILURE : 0;
	case ADV_NVME_IO_FLUSH:
		lab->flushes++;
		break;
	case ADV_NVME_IO_ZERO:
	case ADV_NVME_IO_DEALLOCATE:
		memset(at, 0, io->length);
		break;
	}
	return ADV_NVME_SUCCESS;
}

static void drop(struct lab *lab, struct adv_nvme_request *request)
{
	if (request->buffer)
		lab->buffers--;
	free(request->buffer);
	free(request->receive);
	lab->receives--;
}

static void respond(struct lab *lab, struct adv_nvme_request *request)
{
	struct lab_queue *q = adv_nvme_queue_user(request->queue);

	if (request->write_length) {
		assert_int_equal(request->remote.key, LAB_KEY);
		assert_true(request->remote.address + request->write_length <= LAB_MEMORY);
		memcpy(lab->memory + request->remote.address, request->data, request->write_length);
	}
	q->responses++;
	q->invalidated = request->invalidate;
	assert_true(
		adv_nvme_completion_decode(request->response, sizeof(request->response), &q->last));
	drop(lab, request);
	if (lab->hold_sends)
		lab->held[lab->held_count++] = request;
	else
		adv_nvme_request_sent(request, lab->now);
}

static void carry_out(struct lab *lab, struct adv_nvme_request *request)
{
	uint8_t *buffer;

	switch (request->action) {
	case ADV_NVME_ACTION_BUFFER:
		if (lab->places && adv_nvme_request_may_place(request)) {
			adv_nvme_request_placed(request, lab->now, lab->disk + request->io.offset);
			break;
		}
		if (lab->places && adv_nvme_request_may_find(request)) {
			adv_nvme_request_found(request, lab->now, lab->disk + request->io.offset);
			break;
		}
		buffer = malloc(request->buffer_length);
		assert_non_null(buffer);
		memset(buffer, 0xd5, request->buffer_length); /* of an earlier command */
		lab->buffers++;
		adv_nvme_request_buffered(request, lab->now, buffer);
		break;
	case ADV_NVME_ACTION_FETCH:
		assert_true(request->remote.address + request->data_length <= LAB_MEMORY);
		memcpy(request->data, lab->memory + request->remote.address, request->data_length);
		adv_nvme_request_fetched(request, lab->now, request->remote.key == LAB_KEY);
		break;
	case ADV_NVME_ACTION_SUBMIT:
		adv_nvme_request_executed(request, lab->now, execute(lab, &request->io));
		break;
	case ADV_NVME_ACTION_RESPOND:
		adv_nvme_request_sent(request, lab->now);
		break;
	default:
		fail_msg("action %u", request->action);
	}
}

static bool is_held(const struct lab *lab, enum adv_nvme_action action)
{
	return (action == ADV_NVME_ACTION_BUFFER && lab->hold_buffers) ||
	       (action == ADV_NVME_ACTION_FETCH && lab->hold_fetches) ||
	       (action == ADV_NVME_ACTION_SUBMIT && lab->hold_backend);
}

void lab_run(struct lab *lab)
{
	struct adv_nvme_request *request;
	struct adv_nvme_queue *queue;
	struct lab_queue *q;
	enum adv_nvme_action action;

	while ((action = adv_nvme_outbox_next(&lab->outbox, &queue, &request)) !=
	       ADV_NVME_ACTION_NONE) {
		q = adv_nvme_queue_user(queue);
		if (is_held(lab, action)) {
			assert_true(lab->held_count < LAB_HELD_MAX);
			lab->held[lab->held_count++] = request;
		} else if (action == ADV_NVME_ACTION_RESPOND) {
			respond(lab, request);
		} else if (action == ADV_NVME_ACTION_RELEASE) {
			drop(lab, request);
		} else if (action == ADV_NVME_ACTION_CLOSE) {
			q->closed = true;
			adv_nvme_queue_closed(queue, lab->now);
		} else if (action == ADV_NVME_ACTION_FREE) {
			assert_false(q->freed);
			q->freed = true;
			adv_nvme_queue_destroy(queue);
		} else {
			carry_out(lab, request);
		}
	}
	assert_true(adv_nvme_outbox_empty(&lab->outbox));
}

void lab_continue(struct lab *lab, unsigned index)
{
	struct adv_nvme_request *request = lab->held[index];

	assert_true(index < lab->held_count);
	lab->held_count--;
	memmove(lab->held + index, lab->held + index + 1,
		(lab->held_count - index) * sizeof(lab->held[0]));
	carry_out(lab, request);
	lab_run(lab);
}

enum adv_nvme_cm_status lab_open(struct lab *lab, struct lab_queue *q, uint16_t qid, uint16_t size)
{
	struct adv_nvme_cm_request cm = {
		.qid = qid, .hrqsize = size, .hsqsize = (uint16_t)(size - 1)};
	uint8_t private_data[ADV_NVME_CM_LEN];
	struct adv_nvme_queue_config config = {
		.private_data = private_data,
		.private_data_len = sizeof(private_data),
		.outbox = &lab->outbox,
		.user = q,
		.adrfam = ADV_NVME_IPV4,
		.local_address = "192.0.2.1",
		.local_port = "4420",
		.peer = "192.0.2.9",
		.now = lab->now,
	};

	memset(q, 0, sizeof(*q));
	q->lab = lab;
	adv_nvme_cm_request_encode(&cm, private_data);
	return adv_nvme_queue_create(lab->target, &config, &q->queue);
}

void lab_close(struct lab_queue *q)
{
	q->closed = true;
	adv_nvme_queue_closed(q->queue, q->lab->now);
	lab_run(q->lab);
}

uint16_t lab_send_with(struct lab_queue *q, struct adv_nvme_command *command, const void *data,
		       size_t len)
{
	uint8_t *capsule = malloc(ADV_NVME_COMMAND_LEN + len);

	assert_non_null(capsule);
	command->id = q->next_id++;
	adv_nvme_command_encode(command, capsule);
	if (len)
		memcpy(capsule + ADV_NVME_COMMAND_LEN, data, len);
	q->lab->receives++;
	if (!adv_nvme_queue_rx(q->queue, q->lab->now, capsule, ADV_NVME_COMMAND_LEN + len,
			       capsule)) {
		q->lab->receives--;
		free(capsule);
	}
	lab_run(q->lab);
	return command->id;
}

uint16_t lab_send(struct lab_queue *q, struct adv_nvme_command *command)
{
	return lab_send_with(q, command, NULL, 0);
}

uint16_t lab_do(struct lab_queue *q, struct adv_nvme_command *command)
{
	unsigned before = q->responses;
	uint16_t id = lab_send(q, command);

	assert_int_equal(q->responses, before + 1);
	assert_int_equal(q->last.id, id);
	return q->last.status;
}

struct adv_nvme_command lab_command(uint8_t opcode, uint32_t nsid, uint32_t length)
{
	struct adv_nvme_command command = {.opcode = opcode, .psdt = 1, .nsid = nsid};

	command.sgl.id = ADV_NVME_SGL_KEYED;
	command.sgl.key = LAB_KEY;
	command.sgl.length = length;
	return command;
}

struct adv_nvme_command lab_io(uint8_t opcode, uint64_t slba, uint32_t blocks)
{
	bool data = opcode != ADV_NVME_FLUSH && opcode != ADV_NVME_WRITE_ZEROES;
	struct adv_nvme_command command = lab_command(opcode, 1, data ? blocks << LAB_SHIFT : 0);

	if (blocks)
		adv_nvme_command_set_blocks(&command, slba, blocks);
	return command;
}

struct adv_nvme_command lab_identify(uint8_t cns, uint32_t nsid)
{
	struct adv_nvme_command command = lab_command(ADV_NVME_IDENTIFY, nsid, 4096);

	ADV_NVME_CDW(&command, 10) = cns;
	return command;
}

struct adv_nvme_command lab_log(uint8_t id, uint64_t offset, uint32_t length)
{
	struct adv_nvme_command command = lab_command(ADV_NVME_GET_LOG_PAGE, 0, length);
	struct adv_nvme_get_log log = {.id = id, .offset = offset, .length = length};

	adv_nvme_get_log_encode(&log, &command);
	return command;
}

struct adv_nvme_command lab_feature(bool set, uint8_t id, uint32_t value)
{
	struct adv_nvme_command command =
		lab_command(set ? ADV_NVME_SET_FEATURES : ADV_NVME_GET_FEATURES, 0, 0);

	ADV_NVME_CDW(&command, 10) = id;
	ADV_NVME_CDW(&command, 11) = value;
	return command;
}

uint16_t lab_connect_as(struct lab_queue *q, const char *host_nqn, const char *nqn, uint16_t cntlid,
			uint32_t kato)
{
	struct adv_nvme_connect connect = {.qid = adv_nvme_queue_id(q->queue),
					   .sqsize = (uint16_t)(adv_nvme_queue_size(q->queue) - 1),
					   .kato = kato};
	struct adv_nvme_command command = lab_command(0, 0, ADV_NVME_CONNECT_LEN);
	struct adv_nvme_connect_data data = {.host_id = {(uint8_t)(1 + q->lab->other_host), 2, 3},
					     .cntlid = cntlid};

	strncpy(data.host_nqn, host_nqn, ADV_NVME_NQN_MAX);
	strncpy(data.subsystem_nqn, nqn, ADV_NVME_NQN_MAX);
	adv_nvme_connect_encode(&connect, &command);
	adv_nvme_connect_data_encode(&data, q->lab->memory);
	return lab_do(q, &command);
}

uint16_t lab_connect(struct lab_queue *q, const char *nqn, uint16_t cntlid, uint32_t kato)
{
	return lab_connect_as(q, LAB_HOST, nqn, cntlid, kato);
}

uint16_t lab_set_cc(struct lab_queue *q, uint32_t cc)
{
	struct adv_nvme_property_access access = {.offset = ADV_NVME_CC, .value = cc};
	struct adv_nvme_command command = {.psdt = 1};

	adv_nvme_property_encode(&access, true, &command);
	return lab_do(q, &command);
}

uint64_t lab_get(struct lab_queue *q, uint32_t offset, bool wide)
{
	struct adv_nvme_property_access access = {.offset = offset, .wide = wide};
	struct adv_nvme_command command = {.psdt = 1};

	adv_nvme_property_encode(&access, false, &command);
	assert_int_equal(lab_do(q, &command), ADV_NVME_SUCCESS);
	return q->last.result;
}

uint16_t lab_ready(struct lab *lab, struct lab_queue *admin, struct lab_queue *io, uint32_t kato)
{
	uint16_t cntlid;

	assert_int_equal(lab_open(lab, admin, 0, 32), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(admin, LAB_NQN, ADV_NVME_ANY_CNTLID, kato), 0);
	cntlid = (uint16_t)admin->last.result;
	assert_int_equal(lab_set_cc(admin, ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE), 0);
	assert_int_equal(lab_get(admin, ADV_NVME_CSTS, false), ADV_NVME_CSTS_READY);
	assert_int_equal(lab_open(lab, io, 1, 128), ADV_NVME_CM_OK);
	assert_int_equal(lab_connect(io, LAB_NQN, cntlid, 0), 0);
	return cntlid;
}

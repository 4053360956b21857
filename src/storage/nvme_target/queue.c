/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queues, and the way of a request from its capsule to its response. */
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_target/client.h"
#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/fused.h"
#include "storage/nvme_target/order.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme_target/outbox.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/state.h"
#include "storage/nvme_target/reports.h"

/* Requests beyond the size of a queue, at least. */
enum { SPARE_MIN = 32 };

static enum adv_nvme_cm_status check_sizes(const struct adv_nvme_target *target,
					   const struct adv_nvme_cm_request *cm)
{
	unsigned most = target->config.queue_size;

	if (cm->qid > target->config.io_queues)
		return ADV_NVME_CM_INVALID_QID;
	if (cm->qid == 0 && most < ADV_NVME_ADMIN_QUEUE_SIZE)
		most = ADV_NVME_ADMIN_QUEUE_SIZE;
	if (cm->hsqsize == 0 || cm->hsqsize >= most)
		return ADV_NVME_CM_INVALID_HSQSIZE;
	if (cm->hrqsize == 0)
		return ADV_NVME_CM_INVALID_HRQSIZE;
	return ADV_NVME_CM_OK;
}

enum adv_nvme_cm_status adv_nvme_queue_create(struct adv_nvme_target *target,
					      const struct adv_nvme_queue_config *config,
					      struct adv_nvme_queue **out)
{
	struct adv_nvme_cm_request cm;
	struct adv_nvme_queue *queue;
	enum adv_nvme_cm_status status;
	unsigned count;

	status = adv_nvme_cm_request_decode(config->private_data, config->private_data_len, &cm);
	if (status == ADV_NVME_CM_OK)
		status = check_sizes(target, &cm);
	if (status != ADV_NVME_CM_OK) {
		adv_nvme_report_rejected(target, config, (uint16_t)status);
		return status;
	}
	count = cm.hsqsize + 1u;
	count += count > SPARE_MIN ? count : SPARE_MIN;
	queue = calloc(1, sizeof(*queue) + count * sizeof(queue->requests[0]));
	if (!queue)
		return ADV_NVME_CM_NO_RESOURCES;
	queue->target = target;
	queue->outbox = config->outbox;
	queue->user = config->user;
	queue->id = cm.qid;
	queue->size = (uint16_t)(cm.hsqsize + 1);
	queue->requests_count = (uint16_t)count;
	queue->adrfam = config->adrfam;
	strncpy(queue->local_address, config->local_address, ADV_NVME_TRADDR_LEN);
	if (config->local_port)
		strncpy(queue->port, config->local_port, ADV_NVME_PORT_LEN - 1);
	if (config->peer)
		strncpy(queue->peer, config->peer, ADV_NVME_PEER_LEN - 1);
	adv_list_init(&queue->link);
	adv_list_init(&queue->free);
	adv_list_init(&queue->ended);
	for (unsigned i = 0; i < count; i++) {
		queue->requests[i].queue = queue;
		adv_list_init(&queue->requests[i].order);
		adv_list_add_tail(&queue->free, &queue->requests[i].link);
	}
	queue->connect_end = config->now + target->config.connect_ms * ADV_NVME_MS;
	adv_list_add_tail(&target->queues, &queue->all);
	adv_list_add_tail(&target->unconnected, &queue->unconnected);
	*out = queue;
	return ADV_NVME_CM_OK;
}

void adv_nvme_queue_destroy(struct adv_nvme_queue *queue)
{
	adv_list_del(&queue->link);
	adv_list_del(&queue->all);
	adv_list_del(&queue->unconnected);
	free(queue);
}

void *adv_nvme_queue_user(const struct adv_nvme_queue *queue)
{
	return queue->user;
}

uint16_t adv_nvme_queue_id(const struct adv_nvme_queue *queue)
{
	return queue->id;
}

uint16_t adv_nvme_queue_size(const struct adv_nvme_queue *queue)
{
	return queue->size;
}

uint16_t adv_nvme_queue_requests(const struct adv_nvme_queue *queue)
{
	return queue->requests_count;
}

/* --- requests --- */

static const struct adv_nvme_handler *find_handler(const struct adv_nvme_handler *table,
						   uint8_t code)
{
	for (; table->start; table++) {
		if (table->opcode == code)
			return table;
	}
	return NULL;
}

/* Selects the handler. A status other than success: the command is not allowed now, or unknown. */
static uint16_t select_handler(struct adv_nvme_request *request)
{
	const struct adv_nvme_queue *queue = request->queue;
	const struct adv_nvme_command *command = &request->command;
	const struct adv_nvme_handler *table;

	request->handler = NULL;
	if (command->opcode == ADV_NVME_OPCODE_FABRICS) {
		if (queue->connected == (command->fabrics_type == ADV_NVME_CONNECT))
			return ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR;
		request->handler = find_handler(adv_nvme_fabrics_handlers, command->fabrics_type);
		return request->handler ? ADV_NVME_SUCCESS : ADV_NVME_INVALID_OPCODE | ADV_NVME_DNR;
	}
	if (!queue->connected || !queue->controller ||
	    !adv_nvme_controller_ready(queue->controller))
		return ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR;
	if (queue->id != 0)
		table = adv_nvme_io_handlers;
	else if (queue->controller->subsystem->discovery)
		table = adv_nvme_discovery_handlers;
	else
		table = adv_nvme_admin_handlers;
	request->handler = find_handler(table, command->opcode);
	return request->handler ? ADV_NVME_SUCCESS : ADV_NVME_INVALID_OPCODE | ADV_NVME_DNR;
}

/* Checks the SGL against the length of the data, and finds data in the capsule of `len` bytes. Only
 * the SGL of blocks must have their very length: Linux names a page for any number of ranges. */
static uint16_t check_sgl(struct adv_nvme_request *request, uint8_t *capsule, size_t len)
{
	const struct adv_nvme_sgl *sgl = &request->command.sgl;
	bool to_controller =
		adv_nvme_command_direction(&request->command) == ADV_NVME_TO_CONTROLLER;
	bool exact = request->io.block != 0;

	if (sgl->length < request->data_length || (exact && sgl->length != request->data_length))
		return ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR;
	switch (sgl->id) {
	case ADV_NVME_SGL_KEYED:
	case ADV_NVME_SGL_KEYED_INVALIDATE:
		return ADV_NVME_SUCCESS;
	case ADV_NVME_SGL_OFFSET:
		if (!to_controller)
			return ADV_NVME_INVALID_SGL_TYPE | ADV_NVME_DNR;
		len -= ADV_NVME_COMMAND_LEN;
		if (sgl->address > len)
			return ADV_NVME_INVALID_SGL_OFFSET | ADV_NVME_DNR;
		if (sgl->length > len - sgl->address)
			return ADV_NVME_INVALID_SGL_LENGTH | ADV_NVME_DNR;
		request->data = capsule + ADV_NVME_COMMAND_LEN + sgl->address;
		return ADV_NVME_SUCCESS;
	default:
		return ADV_NVME_INVALID_SGL_TYPE | ADV_NVME_DNR;
	}
}

static uint16_t start_command(struct adv_nvme_request *request, uint8_t *capsule, size_t len)
{
	uint16_t status;

	if (!adv_nvme_fused_allowed(request))
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	/* Linux leaves PSDT out of commands without data that its users pass through. */
	if (request->command.psdt > 2)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	status = select_handler(request);
	if (status == ADV_NVME_SUCCESS)
		status = request->handler->start(request);
	if (status == ADV_NVME_SUCCESS && request->data_length > 0)
		status = check_sgl(request, capsule, len);
	return status;
}

/* Gets the buffer of a command and its data, or executes it. */
static void proceed_request(struct adv_nvme_request *request, uint64_t now)
{
	if (request->data_length == 0 || request->data) {
		request->handler->execute(request, now);
	} else {
		request->buffer_length = request->data_length;
		adv_nvme_request_act(request, ADV_NVME_ACTION_BUFFER);
	}
}

/* Continues with a command that has been started with `status`. */
static void proceed_started(struct adv_nvme_request *request, uint64_t now, uint16_t status)
{
	struct adv_nvme_request *first;

	switch (adv_nvme_fused_started(request, status)) {
	case ADV_NVME_FUSED_HELD:
		break;
	case ADV_NVME_FUSED_BOTH:
		/* Buffers are provided in the order of their requests, so no pair waits for a
		 * second one while others hold their first. */
		first = request->partner;
		proceed_request(first, now);
		proceed_request(request, now);
		break;
	case ADV_NVME_FUSED_ALONE:
		if (status != ADV_NVME_SUCCESS)
			adv_nvme_request_complete(request, status);
		else
			proceed_request(request, now);
		break;
	}
}

/* Makes a request of a capsule. */
static struct adv_nvme_request *take_request(struct adv_nvme_queue *queue, uint64_t now,
					     const uint8_t *capsule, size_t len, void *receive)
{
	struct adv_nvme_request *request =
		adv_container_of(queue->free.next, struct adv_nvme_request, link);

	adv_list_del(&request->link);
	queue->busy++;
	queue->unanswered++;
	request->answered = false;
	request->begun = now;
	request->receive = receive;
	request->user = NULL;
	request->buffer = request->data = NULL;
	request->buffer_length = request->data_length = request->write_length = 0;
	request->result = 0;
	request->range = 0;
	request->fused_failed = request->placed = false;
	memset(&request->io, 0, sizeof(request->io));
	adv_nvme_command_decode(capsule, len, &request->command);
	request->remote = request->command.sgl;
	request->invalidate = request->remote.id == ADV_NVME_SGL_KEYED_INVALIDATE;
	return request;
}

bool adv_nvme_queue_rx(struct adv_nvme_queue *queue, uint64_t now, uint8_t *capsule, size_t len,
		       void *receive)
{
	struct adv_nvme_request *request;

	if (queue->closed || queue->failing)
		return false;
	if (queue->unanswered >= queue->size || adv_list_empty(&queue->free) ||
	    len < ADV_NVME_COMMAND_LEN || len > adv_nvme_target_capsule_len(queue->target)) {
		adv_nvme_queue_fail(
			queue,
			"the host has sent too many commands, or a capsule of a wrong length");
		return false;
	}
	if (queue->id == 0 && queue->controller && queue->controller->subsystem->discovery)
		adv_nvme_controller_keep_alive(queue->controller, now);
	request = take_request(queue, now, capsule, len, receive);
	proceed_started(request, now, start_command(request, capsule, len));
	return true;
}

/* --- what the binding has done --- */

/* True if the request's queue is closed; then the request ends. */
static bool ends_with_queue(struct adv_nvme_request *request)
{
	if (!request->queue->closed)
		return false;
	adv_nvme_request_act(request, ADV_NVME_ACTION_RELEASE);
	return true;
}

void adv_nvme_request_buffered(struct adv_nvme_request *request, uint64_t now, uint8_t *buffer)
{
	request->buffer = request->data = buffer;
	if (ends_with_queue(request))
		return;
	if (adv_nvme_command_direction(&request->command) == ADV_NVME_TO_CONTROLLER)
		adv_nvme_request_act(request, ADV_NVME_ACTION_FETCH);
	else
		request->handler->execute(request, now);
}

bool adv_nvme_request_may_place(const struct adv_nvme_request *request)
{
	return request->io.backend && request->io.kind == ADV_NVME_IO_WRITE &&
	       request->command.fuse == ADV_NVME_NOT_FUSED;
}

void adv_nvme_request_placed(struct adv_nvme_request *request, uint64_t now, uint8_t *memory)
{
	request->data = memory;
	if (ends_with_queue(request))
		return;
	request->placed = true;
	adv_nvme_order_submit(request);
}

bool adv_nvme_request_may_find(const struct adv_nvme_request *request)
{
	const struct adv_nvme_io *io = &request->io;

	return io->backend && io->kind == ADV_NVME_IO_READ && io->length == request->buffer_length;
}

void adv_nvme_request_found(struct adv_nvme_request *request, uint64_t now, uint8_t *memory)
{
	request->data = memory;
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
}

void adv_nvme_request_fetched(struct adv_nvme_request *request, uint64_t now, bool ok)
{
	if (request->placed)
		adv_nvme_order_executed(request);
	if (ends_with_queue(request))
		return;
	if (ok && request->placed) {
		adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
	} else if (ok) {
		request->handler->execute(request, now);
	} else {
		adv_nvme_request_complete(request, ADV_NVME_DATA_TRANSFER_ERROR);
		adv_nvme_fused_failed(request);
	}
}

void adv_nvme_request_executed(struct adv_nvme_request *request, uint64_t now, uint16_t status)
{
	if (adv_nvme_fused_executed(request, status))
		return;
	adv_nvme_order_executed(request);
	if (ends_with_queue(request))
		return;
	if (status == ADV_NVME_SUCCESS && request->handler->repeats)
		request->handler->execute(request, now);
	else
		adv_nvme_request_complete(request, status);
}

void adv_nvme_request_sent(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_queue *queue = request->queue;

	queue->responding--;
	if (!queue->closed)
		adv_nvme_client_count(request, now);
	adv_nvme_request_free(request);
	adv_nvme_respond_next(queue);
}

/* --- the end of a queue --- */

static void end_request(struct adv_nvme_request *request, struct adv_nvme_controller *c)
{
	switch (request->state) {
	case ADV_NVME_REQUEST_PARKED:
		adv_list_del(&request->link);
		if (c)
			c->event_request_count--;
		break;
	case ADV_NVME_REQUEST_HELD:
		adv_nvme_order_cancel(request);
		break;
	case ADV_NVME_REQUEST_FUSED:
		break;
	case ADV_NVME_REQUEST_ENDED:
		adv_list_del(&request->link);
		break;
	case ADV_NVME_REQUEST_QUEUED:
		if (request->action == ADV_NVME_ACTION_RELEASE)
			return;
		adv_list_del(&request->link);
		adv_nvme_order_executed(request);
		break;
	default: /* free, or it returns from the binding */
		return;
	}
	adv_nvme_request_act(request, ADV_NVME_ACTION_RELEASE);
}

/* True if the response is on its way, and adv_nvme_request_sent() follows. */
static bool is_answered(const struct adv_nvme_request *request)
{
	return request->state == ADV_NVME_REQUEST_OUT && request->answered;
}

void adv_nvme_queue_closed(struct adv_nvme_queue *queue, uint64_t now)
{
	if (queue->closed)
		return;
	queue->closed = true;
	queue->fused_first = NULL;
	adv_list_del(&queue->link);
	adv_list_del(&queue->unconnected);
	for (unsigned i = 0; i < queue->requests_count; i++) {
		/* The host closes the connection when it has the response, perhaps before the ACK.
		 */
		if (is_answered(&queue->requests[i]))
			adv_nvme_client_count(&queue->requests[i], now);
		end_request(&queue->requests[i], queue->controller);
	}
	adv_nvme_controller_remove_queue(queue);
	adv_nvme_queue_free_if_idle(queue);
}

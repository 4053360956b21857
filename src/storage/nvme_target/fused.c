/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/fused.h"

#include "storage/nvme_target/order.h"
#include "storage/nvme_target/outbox.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme/status.h"

bool adv_nvme_fused_allowed(const struct adv_nvme_request *request)
{
	const struct adv_nvme_command *command = &request->command;

	if (command->fuse == ADV_NVME_NOT_FUSED)
		return true;
	if (request->queue->id == 0)
		return false;
	return (command->fuse == ADV_NVME_FUSED_FIRST && command->opcode == ADV_NVME_COMPARE) ||
	       (command->fuse == ADV_NVME_FUSED_SECOND && command->opcode == ADV_NVME_WRITE);
}

/* Returns the status of one of two commands: its own, or that its partner has failed. */
static uint16_t status_of_two(uint16_t own, uint16_t partner)
{
	return own == ADV_NVME_SUCCESS && partner != ADV_NVME_SUCCESS ? ADV_NVME_FAILED_FUSED : own;
}

/* False: completes both. */
static bool pair_commands(struct adv_nvme_request *first, struct adv_nvme_request *second,
			  uint16_t status)
{
	uint16_t first_status = first->fused_status;

	if (first_status == ADV_NVME_SUCCESS && status == ADV_NVME_SUCCESS &&
	    (first->namespace != second->namespace || first->io.offset != second->io.offset ||
	     first->io.length != second->io.length))
		first_status = status = ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	if (first_status != ADV_NVME_SUCCESS || status != ADV_NVME_SUCCESS) {
		adv_nvme_request_complete(first, status_of_two(first_status, status));
		adv_nvme_request_complete(second, status_of_two(status, first_status));
		return false;
	}
	first->partner = second;
	second->partner = first;
	return true;
}

enum adv_nvme_fused_next adv_nvme_fused_started(struct adv_nvme_request *request, uint16_t status)
{
	struct adv_nvme_queue *queue = request->queue;
	struct adv_nvme_request *first = queue->fused_first;
	bool allowed = adv_nvme_fused_allowed(request);
	bool is_second = allowed && request->command.fuse == ADV_NVME_FUSED_SECOND;

	queue->fused_first = NULL;
	if (first && !is_second)
		adv_nvme_request_complete(first, ADV_NVME_MISSING_FUSED | ADV_NVME_DNR);
	if (!allowed || request->command.fuse == ADV_NVME_NOT_FUSED)
		return ADV_NVME_FUSED_ALONE;
	if (!is_second) {
		request->fused_status = status;
		request->state = ADV_NVME_REQUEST_FUSED;
		queue->fused_first = request;
		return ADV_NVME_FUSED_HELD;
	}
	if (!first) {
		adv_nvme_request_complete(request, ADV_NVME_MISSING_FUSED | ADV_NVME_DNR);
		return ADV_NVME_FUSED_HELD;
	}
	return pair_commands(first, request, status) ? ADV_NVME_FUSED_BOTH : ADV_NVME_FUSED_HELD;
}

bool adv_nvme_fused_ready(struct adv_nvme_request *request)
{
	struct adv_nvme_request *partner = request->partner;
	bool is_first = request->command.fuse == ADV_NVME_FUSED_FIRST;

	if (request->fused_failed) {
		adv_nvme_request_complete(request, ADV_NVME_FAILED_FUSED);
		return true;
	}
	if (!partner)
		return false;
	request->state = ADV_NVME_REQUEST_FUSED;
	if (partner->state == ADV_NVME_REQUEST_FUSED)
		adv_nvme_order_submit(is_first ? request : partner);
	return true;
}

bool adv_nvme_fused_executed(struct adv_nvme_request *request, uint16_t status)
{
	struct adv_nvme_request *second = request->partner;

	if (!second || request->command.fuse != ADV_NVME_FUSED_FIRST)
		return false;
	request->partner = second->partner = NULL;
	if (request->queue->closed) /* both are released */
		return false;
	if (status == ADV_NVME_SUCCESS) {
		adv_nvme_order_hand_over(request, second);
		adv_nvme_request_act(second, ADV_NVME_ACTION_SUBMIT);
		adv_nvme_request_complete(request, status);
	} else {
		adv_nvme_order_executed(request);
		adv_nvme_request_complete(request, status);
		adv_nvme_request_complete(second, ADV_NVME_FAILED_FUSED);
	}
	return true;
}

void adv_nvme_fused_failed(struct adv_nvme_request *request)
{
	struct adv_nvme_request *partner = request->partner;

	if (!partner)
		return;
	request->partner = partner->partner = NULL;
	if (partner->state == ADV_NVME_REQUEST_FUSED)
		adv_nvme_request_complete(partner, ADV_NVME_FAILED_FUSED);
	else
		partner->fused_failed = true;
}

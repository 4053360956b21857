/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/respond.h"

#include "storage/nvme_target/error_log.h"
#include "storage/nvme_target/outbox.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/reports.h"

static void add_to_smart(const struct adv_nvme_request *request)
{
	struct adv_nvme_smart *smart = &request->namespace->subsystem->smart;

	if (request->io.kind == ADV_NVME_IO_READ || request->io.kind == ADV_NVME_IO_COMPARE) {
		smart->reads++;
		smart->units_read += request->io.length;
	} else if (request->io.kind == ADV_NVME_IO_WRITE) {
		smart->writes++;
		smart->units_written += request->io.length;
	}
}

void adv_nvme_request_complete(struct adv_nvme_request *request, uint16_t status)
{
	struct adv_nvme_queue *queue = request->queue;
	struct adv_nvme_completion c = {
		.result = request->result, .id = request->command.id, .status = status};

	if (queue->closed) {
		adv_nvme_request_act(request, ADV_NVME_ACTION_RELEASE);
		return;
	}
	if (status == ADV_NVME_SUCCESS && request->namespace)
		add_to_smart(request);
	if (status != ADV_NVME_SUCCESS)
		adv_nvme_report_failure(request, status);
	if (status != ADV_NVME_SUCCESS && queue->controller)
		adv_nvme_controller_add_error(queue->controller, request, status);
	if (queue->flow_control)
		queue->sq_head = (uint16_t)((queue->sq_head + 1) % queue->sqsize);
	c.sq_head = queue->flow_control ? queue->sq_head : 0xffff;
	adv_nvme_completion_encode(&c, request->response);
	request->status = status;
	request->write_length = 0;
	if (status == ADV_NVME_SUCCESS &&
	    adv_nvme_command_direction(&request->command) == ADV_NVME_TO_HOST)
		request->write_length = request->data_length;
	request->state = ADV_NVME_REQUEST_ENDED;
	adv_list_add_tail(&queue->ended, &request->link);
	adv_nvme_respond_next(queue);
}

/* The host may send as many commands as it has responses, also if the acknowledgements of these are
 * lost. Then their requests are not free yet. So no more responses are under way than there are
 * requests beyond the size of the queue. */
void adv_nvme_respond_next(struct adv_nvme_queue *queue)
{
	unsigned most = queue->requests_count - queue->size;
	struct adv_nvme_request *request;

	while (queue->responding < most && !adv_list_empty(&queue->ended)) {
		request = adv_container_of(queue->ended.next, struct adv_nvme_request, link);
		adv_list_del(&request->link);
		queue->responding++;
		adv_nvme_request_act(request, ADV_NVME_ACTION_RESPOND);
	}
}

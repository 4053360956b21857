/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fabrics commands: Connect, Property Get and Set (NVMe over Fabrics 1.1, section 3).
 * Authentication and Disconnect are not in the table, so they fail with Invalid Command Opcode.
 */
#include <string.h>

#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/namespace.h"
#include "storage/nvme_target/outbox.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/subsystem.h"
#include "storage/nvme_target/reports.h"

static uint16_t refuse_connect(struct adv_nvme_request *request, bool data, unsigned offset)
{
	request->result = ADV_NVME_CONNECT_WHERE(data, offset);
	return ADV_NVME_CONNECT_INVALID | ADV_NVME_DNR;
}

static uint16_t connect_start(struct adv_nvme_request *request)
{
	struct adv_nvme_connect connect;

	adv_nvme_connect_decode(&request->command, &connect);
	if (connect.recfmt != 0)
		return ADV_NVME_CONNECT_FORMAT | ADV_NVME_DNR;
	if (connect.qid != request->queue->id)
		return refuse_connect(request, false, ADV_NVME_CONNECT_AT_QID);
	if (connect.sqsize == 0 || connect.sqsize >= request->queue->size)
		return refuse_connect(request, false, ADV_NVME_CONNECT_AT_SQSIZE);
	request->data_length = ADV_NVME_CONNECT_LEN;
	return ADV_NVME_SUCCESS;
}

static uint16_t connect_admin(struct adv_nvme_request *request, uint64_t now,
			      struct adv_nvme_subsystem *subsystem,
			      const struct adv_nvme_connect_data *data)
{
	struct adv_nvme_controller *c;
	struct adv_nvme_connect connect;

	if (data->cntlid != ADV_NVME_ANY_CNTLID)
		return refuse_connect(request, true, ADV_NVME_CONNECT_AT_CNTLID);
	c = adv_nvme_controller_create(subsystem, data);
	if (!c)
		return ADV_NVME_CONNECT_BUSY;
	adv_nvme_connect_decode(&request->command, &connect);
	c->admin = request->queue;
	request->queue->controller = c;
	adv_nvme_controller_set_kato(c, now, connect.kato);
	request->result = c->cntlid;
	adv_nvme_report_queue(request->queue, ADV_NVME_REPORT_CONNECTED, NULL);
	return ADV_NVME_SUCCESS;
}

static uint16_t connect_io(struct adv_nvme_request *request, struct adv_nvme_subsystem *subsystem,
			   const struct adv_nvme_connect_data *data)
{
	struct adv_nvme_queue *queue = request->queue;
	struct adv_nvme_controller *c = adv_nvme_controller_find(subsystem, data->cntlid);

	if (!c || subsystem->discovery)
		return refuse_connect(request, true, ADV_NVME_CONNECT_AT_CNTLID);
	if (strcmp(data->host_nqn, c->host_nqn) != 0)
		return refuse_connect(request, true, ADV_NVME_CONNECT_AT_HOSTNQN);
	if (memcmp(data->host_id, c->host_id, sizeof(c->host_id)) != 0)
		return refuse_connect(request, true, ADV_NVME_CONNECT_AT_HOSTID);
	if (!adv_nvme_controller_ready(c))
		return ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR;
	if (queue->id > c->io_queues)
		return refuse_connect(request, false, ADV_NVME_CONNECT_AT_QID);
	/* The host's previous connection may not have closed yet: it may try again. */
	if (c->queues[queue->id])
		return ADV_NVME_SEQUENCE_ERROR;
	c->queues[queue->id] = queue;
	queue->controller = c;
	request->result = c->cntlid;
	return ADV_NVME_SUCCESS;
}

static uint16_t connect_queue(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_queue *queue = request->queue;
	struct adv_nvme_subsystem *subsystem;
	struct adv_nvme_connect_data data;
	struct adv_nvme_connect connect;
	uint16_t status;
	unsigned wrong;

	/* A second Connect may have been under way at the same time. */
	if (queue->connected)
		return ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR;
	wrong = adv_nvme_connect_data_decode(request->data, &data);
	if (wrong)
		return refuse_connect(request, true, wrong);
	subsystem = adv_nvme_target_find_subsystem(queue->target, data.subsystem_nqn);
	if (!subsystem)
		return refuse_connect(request, true, ADV_NVME_CONNECT_AT_SUBNQN);
	if (!adv_nvme_subsystem_allows(subsystem, data.host_nqn))
		return ADV_NVME_CONNECT_HOST | ADV_NVME_DNR;
	if (queue->id == 0)
		status = connect_admin(request, now, subsystem, &data);
	else
		status = connect_io(request, subsystem, &data);
	if (status != ADV_NVME_SUCCESS)
		return status;
	adv_nvme_connect_decode(&request->command, &connect);
	queue->connected = true;
	adv_list_del(&queue->unconnected);
	queue->sqsize = (uint16_t)(connect.sqsize + 1);
	queue->flow_control = !(connect.cattr & ADV_NVME_NO_FLOW_CONTROL);
	return ADV_NVME_SUCCESS;
}

static void connect_execute(struct adv_nvme_request *request, uint64_t now)
{
	adv_nvme_request_complete(request, connect_queue(request, now));
}

/* Properties belong to the admin queue. */
static uint16_t property_start(struct adv_nvme_request *request)
{
	struct adv_nvme_property_access access;

	if (request->queue->id != 0 || !request->queue->controller ||
	    !adv_nvme_property_decode(&request->command, &access))
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	return ADV_NVME_SUCCESS;
}

static void property_get_execute(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_property_access access;
	uint16_t status = ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;

	adv_nvme_property_decode(&request->command, &access);
	if (adv_nvme_controller_get(request->queue->controller, &access)) {
		request->result = access.value;
		status = ADV_NVME_SUCCESS;
	}
	adv_nvme_request_complete(request, status);
}

/* Flushes the next namespace of a controller that shuts down. If that fails, the command fails and
 * the shutdown stays incomplete. False: all are flushed. */
static bool flush_next(struct adv_nvme_request *request)
{
	struct adv_nvme_subsystem *subsystem = request->queue->controller->subsystem;

	if (request->namespace)
		adv_nvme_namespace_put(request->namespace);
	request->namespace = NULL;
	while (!request->namespace && request->range < ADV_NVME_NSID_MAX)
		request->namespace = adv_nvme_namespace_find(subsystem, ++request->range);
	if (!request->namespace)
		return false;
	adv_nvme_namespace_get(request->namespace);
	request->io.kind = ADV_NVME_IO_FLUSH;
	request->io.backend = request->namespace->backend;
	adv_nvme_request_act(request, ADV_NVME_ACTION_SUBMIT);
	return true;
}

/* Runs for the command, and again after each flush of a shutdown. */
static void property_set_execute(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_controller *c = request->queue->controller;
	struct adv_nvme_property_access access;

	adv_nvme_property_decode(&request->command, &access);
	if (request->range == 0 && !adv_nvme_controller_set(c, now, &access)) {
		adv_nvme_request_complete(request, ADV_NVME_INVALID_FIELD | ADV_NVME_DNR);
		return;
	}
	if (adv_nvme_controller_shutting_down(c) && flush_next(request))
		return;
	adv_nvme_controller_shut_down(c);
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
}

const struct adv_nvme_handler adv_nvme_fabrics_handlers[] = {
	{ADV_NVME_CONNECT, connect_start, connect_execute, false},
	{ADV_NVME_PROPERTY_GET, property_start, property_get_execute, false},
	{ADV_NVME_PROPERTY_SET, property_start, property_set_execute, true},
	{0},
};

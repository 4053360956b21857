/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Set Features and Get Features (NVMe Base 1.4, section 5.21; NVMe over Fabrics 1.1, section 5). */
#include <string.h>

#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme/status.h"

#define SAVE (1u << 31)

static uint8_t feature_id(const struct adv_nvme_request *request)
{
	return (uint8_t)ADV_NVME_CDW(&request->command, 10);
}

/* Number of Queues: 0's based counts of submission and completion queues, which are equal. */
static uint32_t queues_value(uint16_t io_queues)
{
	return (io_queues - 1u) | (uint32_t)(io_queues - 1u) << 16;
}

static uint16_t set_queues(struct adv_nvme_request *request)
{
	struct adv_nvme_controller *c = request->queue->controller;
	uint32_t submission = ADV_NVME_CDW(&request->command, 11) & 0xffff;
	uint32_t completion = ADV_NVME_CDW(&request->command, 11) >> 16;
	uint32_t count = (submission < completion ? submission : completion) + 1;
	uint16_t most = request->queue->target->config.io_queues;

	if (submission == 0xffff || completion == 0xffff)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	for (unsigned i = 1; i <= most; i++) {
		if (c->queues[i])
			return ADV_NVME_SEQUENCE_ERROR | ADV_NVME_DNR;
	}
	c->io_queues = (uint16_t)(count < most ? count : most);
	request->result = queues_value(c->io_queues);
	return ADV_NVME_SUCCESS;
}

static uint16_t set_feature(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_controller *c = request->queue->controller;
	uint32_t value = ADV_NVME_CDW(&request->command, 11);

	switch (feature_id(request)) {
	case ADV_NVME_FEATURE_WRITE_CACHE:
		c->no_write_cache = !(value & 1);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_QUEUES:
		return set_queues(request);
	case ADV_NVME_FEATURE_ASYNC_EVENTS:
		c->event_config = value;
		adv_nvme_controller_report_events(c);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_KEEP_ALIVE:
		adv_nvme_controller_set_kato(c, now, value);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_HOST_ID:
	case ADV_NVME_FEATURE_ARBITRATION:
	case ADV_NVME_FEATURE_POWER:
	case ADV_NVME_FEATURE_TEMPERATURE:
	case ADV_NVME_FEATURE_ERROR_RECOVERY:
	case ADV_NVME_FEATURE_WRITE_ATOMICITY:
		return ADV_NVME_FEATURE_NOT_CHANGEABLE | ADV_NVME_DNR;
	default:
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	}
}

/* A discovery controller has the features of events and of the keep alive timer only. */
static uint16_t check_feature(const struct adv_nvme_request *request)
{
	uint8_t id = feature_id(request);

	if (request->queue->controller->subsystem->discovery &&
	    id != ADV_NVME_FEATURE_ASYNC_EVENTS && id != ADV_NVME_FEATURE_KEEP_ALIVE)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	return ADV_NVME_SUCCESS;
}

uint16_t adv_nvme_set_features_start(struct adv_nvme_request *request)
{
	if (ADV_NVME_CDW(&request->command, 10) & SAVE)
		return ADV_NVME_FEATURE_NOT_SAVEABLE | ADV_NVME_DNR;
	return check_feature(request);
}

void adv_nvme_set_features_execute(struct adv_nvme_request *request, uint64_t now)
{
	adv_nvme_request_complete(request, set_feature(request, now));
}

uint16_t adv_nvme_get_features_start(struct adv_nvme_request *request)
{
	uint16_t status = check_feature(request);

	if (status == ADV_NVME_SUCCESS && feature_id(request) == ADV_NVME_FEATURE_HOST_ID) {
		if (!(ADV_NVME_CDW(&request->command, 11) & 1)) /* 64 bits: not with fabrics */
			return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
		request->data_length = ADV_NVME_HOST_ID_LEN;
	}
	return status;
}

static uint16_t get_feature(struct adv_nvme_request *request)
{
	const struct adv_nvme_controller *c = request->queue->controller;

	switch (feature_id(request)) {
	case ADV_NVME_FEATURE_ARBITRATION:
	case ADV_NVME_FEATURE_POWER:
	case ADV_NVME_FEATURE_ERROR_RECOVERY:
	case ADV_NVME_FEATURE_WRITE_ATOMICITY:
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_TEMPERATURE:
		request->result = 0xffff; /* no threshold */
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_WRITE_CACHE:
		request->result = !c->no_write_cache;
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_QUEUES:
		request->result = queues_value(c->io_queues);
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_ASYNC_EVENTS:
		request->result = c->event_config;
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_KEEP_ALIVE:
		request->result = c->kato;
		return ADV_NVME_SUCCESS;
	case ADV_NVME_FEATURE_HOST_ID:
		memcpy(request->data, c->host_id, ADV_NVME_HOST_ID_LEN);
		return ADV_NVME_SUCCESS;
	default:
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	}
}

void adv_nvme_get_features_execute(struct adv_nvme_request *request, uint64_t now)
{
	if (!request->queue->controller)
		adv_nvme_request_complete(request, ADV_NVME_ABORTED_SQ_DELETION);
	else
		adv_nvme_request_complete(request, get_feature(request));
}

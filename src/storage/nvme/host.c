/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/host.h"

#include <stdio.h>
#include <string.h>

#include "storage/nvme/log_page.h"
#include "storage/nvme/status.h"

#define MS 1000000ull

enum state {
	OPEN_ADMIN,
	CONNECT_ADMIN,
	GET_CAP,
	GET_VERSION,
	ENABLE,
	GET_STATUS,
	WAIT_STATUS,
	IDENTIFY,
	SET_QUEUES,
	OPEN_IO,
	CONNECT_IO,
	REPORT_READY,
	READY,
	KEEP_ALIVE,
	FAILED,
};

enum { POLL_MS = 10, CAP_TIMEOUT_MS = 500 };

void adv_nvme_host_init(struct adv_nvme_host *host, const struct adv_nvme_host_config *config)
{
	memset(host, 0, sizeof(*host));
	host->config = *config;
	host->state = OPEN_ADMIN;
	host->wake = UINT64_MAX;
}

static void fail_connect(struct adv_nvme_host *host, const char *what, const char *why)
{
	snprintf(host->reason, sizeof(host->reason), "%s: %s", what, why);
	host->state = FAILED;
}

static void prepare_connect(struct adv_nvme_host *host)
{
	struct adv_nvme_connect connect = {.qid = host->qid,
					   .sqsize = (uint16_t)(host->size - 1),
					   .kato = host->qid ? 0 : host->config.kato};
	struct adv_nvme_connect_data data = {.cntlid = host->qid ? host->cntlid
								 : ADV_NVME_ANY_CNTLID};

	memcpy(data.host_id, host->config.host_id, sizeof(data.host_id));
	memcpy(data.subsystem_nqn, host->config.subsystem_nqn, sizeof(data.subsystem_nqn));
	memcpy(data.host_nqn, host->config.host_nqn, sizeof(data.host_nqn));
	adv_nvme_connect_encode(&connect, &host->command);
	adv_nvme_connect_data_encode(&data, host->data);
	host->data_length = ADV_NVME_CONNECT_LEN;
}

static void prepare_property(struct adv_nvme_host *host, uint32_t offset, bool wide, bool set,
			     uint64_t value)
{
	struct adv_nvme_property_access access = {.offset = offset, .wide = wide, .value = value};

	adv_nvme_property_encode(&access, set, &host->command);
}

static void prepare_command(struct adv_nvme_host *host)
{
	uint32_t queues = host->config.io_queues - 1u;

	memset(&host->command, 0, sizeof(host->command));
	host->data_length = 0;
	switch (host->state) {
	case CONNECT_ADMIN:
	case CONNECT_IO:
		prepare_connect(host);
		break;
	case GET_CAP:
		prepare_property(host, ADV_NVME_CAP, true, false, 0);
		break;
	case GET_VERSION:
		prepare_property(host, ADV_NVME_VS, false, false, 0);
		break;
	case ENABLE:
		prepare_property(host, ADV_NVME_CC, false, true,
				 ADV_NVME_CC_DEFAULT | ADV_NVME_CC_ENABLE);
		break;
	case GET_STATUS:
		prepare_property(host, ADV_NVME_CSTS, false, false, 0);
		break;
	case IDENTIFY:
		host->command.opcode = ADV_NVME_IDENTIFY;
		ADV_NVME_CDW(&host->command, 10) = ADV_NVME_CNS_CONTROLLER;
		host->data_length = ADV_NVME_IDENTIFY_LEN;
		break;
	case SET_QUEUES:
		host->command.opcode = ADV_NVME_SET_FEATURES;
		ADV_NVME_CDW(&host->command, 10) = ADV_NVME_FEATURE_QUEUES;
		ADV_NVME_CDW(&host->command, 11) = queues | queues << 16;
		break;
	default: /* KEEP_ALIVE */
		host->command.opcode = ADV_NVME_KEEP_ALIVE;
		break;
	}
}

static enum adv_nvme_host_step open_queue(struct adv_nvme_host *host, uint16_t qid)
{
	uint32_t most = (uint32_t)(host->cap & 0xffff) + 1;

	host->qid = qid;
	host->size = ADV_NVME_ADMIN_QUEUE_SIZE;
	if (qid)
		host->size =
			host->config.queue_size < most ? host->config.queue_size : (uint16_t)most;
	host->busy = true;
	return ADV_NVME_HOST_OPEN;
}

enum adv_nvme_host_step adv_nvme_host_next(struct adv_nvme_host *host, uint64_t now)
{
	if (host->state == FAILED)
		return ADV_NVME_HOST_FAILED;
	if (host->busy)
		return ADV_NVME_HOST_WAIT;
	switch (host->state) {
	case OPEN_ADMIN:
		return open_queue(host, 0);
	case OPEN_IO:
		return open_queue(host, (uint16_t)(host->io_queues + 1));
	case WAIT_STATUS:
	case READY:
		if (now < host->wake)
			return ADV_NVME_HOST_WAIT;
		host->state = host->state == READY ? KEEP_ALIVE : GET_STATUS;
		break;
	case REPORT_READY:
		host->state = READY;
		/* Twice in the timeout, so that one that is late does no harm. */
		host->wake = host->config.kato ? now + host->config.kato * MS / 2 : UINT64_MAX;
		return ADV_NVME_HOST_READY;
	default:
		break;
	}
	host->qid = host->state == CONNECT_IO ? (uint16_t)(host->io_queues + 1) : 0;
	prepare_command(host);
	host->busy = true;
	return ADV_NVME_HOST_COMMAND;
}

void adv_nvme_host_opened(struct adv_nvme_host *host, const char *error)
{
	host->busy = false;
	if (error)
		fail_connect(host, host->qid ? "I/O queue" : "admin queue", error);
	else
		host->state = host->qid ? CONNECT_IO : CONNECT_ADMIN;
}

static void check_status(struct adv_nvme_host *host, uint64_t now, uint32_t csts)
{
	if (csts & ADV_NVME_CSTS_FATAL) {
		fail_connect(host, "controller", "fatal status (CSTS.CFS)");
	} else if (csts & ADV_NVME_CSTS_READY) {
		host->state = IDENTIFY;
		host->wake = UINT64_MAX;
	} else if (now >= host->ready_end) {
		fail_connect(host, "controller", "not ready within its timeout (CAP.TO)");
	} else {
		host->state = WAIT_STATUS;
		host->wake = now + POLL_MS * MS;
	}
}

static void next_io_queue(struct adv_nvme_host *host)
{
	host->state = host->io_queues < host->config.io_queues ? OPEN_IO : REPORT_READY;
}

/* After Identify: discovery controllers have no I/O queues. */
static void controller_identified(struct adv_nvme_host *host)
{
	adv_nvme_identify_controller_decode(host->data, &host->controller);
	if (host->config.io_queues && host->controller.ioccsz < ADV_NVME_COMMAND_LEN / 16)
		fail_connect(host, "controller",
			     "it states a command capsule below 64 bytes (IOCCSZ)");
	else
		host->state = host->config.io_queues ? SET_QUEUES : REPORT_READY;
}

static void queues_granted(struct adv_nvme_host *host, uint64_t result)
{
	uint32_t submission = (uint32_t)(result & 0xffff) + 1;
	uint32_t completion = (uint32_t)(result >> 16 & 0xffff) + 1;
	uint32_t count = submission < completion ? submission : completion;

	if (count < host->config.io_queues)
		host->config.io_queues = (uint16_t)count;
	next_io_queue(host);
}

static void handle_success(struct adv_nvme_host *host, uint64_t now, uint64_t result)
{
	switch (host->state) {
	case CONNECT_ADMIN:
		host->cntlid = (uint16_t)result;
		host->state = GET_CAP;
		break;
	case GET_CAP:
		host->cap = result;
		host->ready_end = now + ((result >> 24 & 0xff) + 1) * CAP_TIMEOUT_MS * MS;
		host->state = GET_VERSION;
		break;
	case GET_VERSION:
		host->version = (uint32_t)result;
		host->state = ENABLE;
		break;
	case ENABLE:
		host->state = GET_STATUS;
		break;
	case GET_STATUS:
		check_status(host, now, (uint32_t)result);
		break;
	case IDENTIFY:
		controller_identified(host);
		break;
	case SET_QUEUES:
		queues_granted(host, result);
		break;
	case CONNECT_IO:
		host->io_queues++;
		next_io_queue(host);
		break;
	default: /* KEEP_ALIVE */
		host->state = READY;
		host->wake = now + host->config.kato * MS / 2;
		break;
	}
}

void adv_nvme_host_completed(struct adv_nvme_host *host, uint64_t now,
			     const struct adv_nvme_completion *completion)
{
	host->busy = false;
	if (host->state == FAILED)
		return;
	if (completion->status == ADV_NVME_SUCCESS)
		handle_success(host, now, completion->result);
	else
		fail_connect(host, adv_nvme_command_name(&host->command, true),
			     adv_nvme_status_name(completion->status));
}

uint64_t adv_nvme_host_deadline(const struct adv_nvme_host *host)
{
	return host->busy ? UINT64_MAX : host->wake;
}

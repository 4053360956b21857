/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/reports.h"

#include <stdio.h>
#include <string.h>

#include "storage/nvme/status.h"
#include "storage/kit/text.h"

/* --- the list --- */

/* Returns a new report of a queue; NULL: there are too many. */
static struct adv_nvme_report *add_report(struct adv_nvme_target *target,
					  enum adv_nvme_report_kind kind)
{
	struct adv_nvme_report *r;

	if (target->report_count == ADV_NVME_REPORTS_MAX) {
		target->reports_lost++;
		return NULL;
	}
	r = &target->reports[(target->report_first + target->report_count++) %
			     ADV_NVME_REPORTS_MAX];
	memset(r, 0, sizeof(*r));
	r->kind = kind;
	return r;
}

bool adv_nvme_target_next_report(struct adv_nvme_target *target, struct adv_nvme_report *report)
{
	if (target->report_count == 0)
		return false;
	*report = target->reports[target->report_first];
	target->report_first = (target->report_first + 1) % ADV_NVME_REPORTS_MAX;
	target->report_count--;
	return true;
}

bool adv_nvme_target_has_reports(const struct adv_nvme_target *target)
{
	return target->report_count > 0;
}

uint64_t adv_nvme_target_lost_reports(struct adv_nvme_target *target)
{
	uint64_t lost = target->reports_lost;

	target->reports_lost = 0;
	return lost;
}

/* --- what is reported --- */

static void copy_name(char to[ADV_NVME_NQN_LEN], const char *from)
{
	adv_kit_copy_printable(to, from, ADV_NVME_NQN_LEN);
}

static struct adv_nvme_report *add_of_queue(const struct adv_nvme_queue *queue,
					    enum adv_nvme_report_kind kind, const char *why)
{
	struct adv_nvme_report *r = add_report(queue->target, kind);
	const struct adv_nvme_controller *c = queue->controller;

	if (!r)
		return NULL;
	memcpy(r->port, queue->port, sizeof(r->port));
	memcpy(r->peer, queue->peer, sizeof(r->peer));
	r->qid = queue->id;
	r->why = why;
	if (!c)
		return r;
	r->cntlid = c->cntlid;
	r->discovery = c->subsystem->discovery;
	copy_name(r->host_nqn, c->host_nqn);
	copy_name(r->subsystem_nqn, c->subsystem->nqn);
	return r;
}

void adv_nvme_report_queue(struct adv_nvme_queue *queue, enum adv_nvme_report_kind kind,
			   const char *why)
{
	add_of_queue(queue, kind, why);
}

void adv_nvme_report_rejected(struct adv_nvme_target *target,
			      const struct adv_nvme_queue_config *config, uint16_t status)
{
	struct adv_nvme_report *r = add_report(target, ADV_NVME_REPORT_REJECTED);

	if (!r)
		return;
	snprintf(r->port, sizeof(r->port), "%s", config->local_port ? config->local_port : "");
	snprintf(r->peer, sizeof(r->peer), "%s", config->peer ? config->peer : "");
	r->why = adv_nvme_cm_status_name(status);
}

/* Says what the host did wrong, as far as the status does not say it. */
static const char *why_refused(const struct adv_nvme_request *request, uint16_t status)
{
	if (ADV_NVME_CODE(status) == ADV_NVME_CONNECT_HOST)
		return "the host is not allowed (allow-host)";
	if (ADV_NVME_CODE(status) != ADV_NVME_CONNECT_INVALID)
		return adv_nvme_status_name(status);
	switch (request->result) {
	case ADV_NVME_CONNECT_WHERE(true, ADV_NVME_CONNECT_AT_SUBNQN):
		return "there is no such subsystem";
	case ADV_NVME_CONNECT_WHERE(true, ADV_NVME_CONNECT_AT_CNTLID):
		return "there is no such controller";
	case ADV_NVME_CONNECT_WHERE(true, ADV_NVME_CONNECT_AT_HOSTNQN):
	case ADV_NVME_CONNECT_WHERE(true, ADV_NVME_CONNECT_AT_HOSTID):
		return "the controller is another host's";
	default:
		return "wrong size or number of the queue";
	}
}

static void report_refused(const struct adv_nvme_request *request, uint16_t status)
{
	struct adv_nvme_connect_data data;
	struct adv_nvme_report *r =
		add_of_queue(request->queue, ADV_NVME_REPORT_REFUSED, why_refused(request, status));

	if (!r || !request->data || request->data_length != ADV_NVME_CONNECT_LEN ||
	    adv_nvme_connect_data_decode(request->data, &data) != 0)
		return;
	copy_name(r->host_nqn, data.host_nqn);
	copy_name(r->subsystem_nqn, data.subsystem_nqn);
}

/* True if neither the host nor what it wants is the reason. */
static bool is_failure(uint16_t status)
{
	switch (ADV_NVME_CODE(status)) {
	case ADV_NVME_INTERNAL_ERROR:
	case ADV_NVME_DATA_TRANSFER_ERROR:
	case ADV_NVME_CAPACITY_EXCEEDED:
	case ADV_NVME_WRITE_FAULT:
	case ADV_NVME_READ_ERROR:
		return true;
	default:
		return false;
	}
}

void adv_nvme_report_failure(const struct adv_nvme_request *request, uint16_t status)
{
	const struct adv_nvme_command *command = &request->command;
	struct adv_nvme_report *r;

	if (command->opcode == ADV_NVME_OPCODE_FABRICS &&
	    command->fabrics_type == ADV_NVME_CONNECT) {
		report_refused(request, status);
		return;
	}
	if (!is_failure(status))
		return;
	r = add_of_queue(request->queue, ADV_NVME_REPORT_FAILED, adv_nvme_status_name(status));
	if (!r)
		return;
	r->command = adv_nvme_command_name(command, request->queue->id == 0);
	r->nsid = request->namespace ? request->namespace->nsid : 0;
	r->lba = r->nsid ? request->io.offset >> request->namespace->block_shift : 0;
}

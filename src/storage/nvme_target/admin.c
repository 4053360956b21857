/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Admin commands: Identify, Keep Alive, Asynchronous Event Request, Abort (NVMe Base 1.4, 5). */
#include <string.h>

#include "base/version.h"
#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme_target/namespace.h"
#include "storage/nvme/status.h"

/* --- Identify --- */

static uint16_t identify_start(struct adv_nvme_request *request)
{
	request->data_length = ADV_NVME_IDENTIFY_LEN;
	return ADV_NVME_SUCCESS;
}

static void identify_controller(struct adv_nvme_request *request)
{
	const struct adv_nvme_controller *c = request->queue->controller;
	const struct adv_nvme_target_config *config = &request->queue->target->config;
	bool discovery = c->subsystem->discovery;
	struct adv_nvme_identify_controller id = {
		.model = "Adverb",
		.firmware = ADV_VERSION,
		.cmic = ADV_NVME_CMIC_CONTROLLERS,
		.mdts = config->mdts,
		.cntlid = c->cntlid,
		.ver = ADV_NVME_VERSION,
		.oaes = discovery ? ADV_NVME_OAES_DISCOVERY : ADV_NVME_OAES_NAMESPACE,
		.ctratt = ADV_NVME_CTRATT_HOSTID,
		.cntrltype = discovery ? ADV_NVME_DISCOVERY_CONTROLLER : ADV_NVME_IO_CONTROLLER,
		.acl = 3,
		.aerl = ADV_NVME_AER_MAX - 1,
		.frmw = 0x03, /* one slot, read only */
		.lpa = ADV_NVME_LPA_EXTENDED,
		.elpe = ADV_NVME_ERRORS - 1,
		.kas = ADV_NVME_KAS,
		.maxcmd = config->queue_size,
		.sgls = ADV_NVME_SGLS_SUPPORTED | ADV_NVME_SGLS_KEYED | ADV_NVME_SGLS_OFFSET,
		.ioccsz = (ADV_NVME_COMMAND_LEN + config->in_capsule) / 16,
		.iorcsz = ADV_NVME_COMPLETION_LEN / 16,
		.msdbd = 1,
	};

	memcpy(id.serial, c->subsystem->serial, sizeof(id.serial));
	memcpy(id.subnqn, c->subsystem->nqn, sizeof(id.subnqn));
	if (!discovery) {
		id.wctemp = 343;
		id.cctemp = 353;
		id.sqes = 0x66;
		id.cqes = 0x44;
		id.cmic |= ADV_NVME_CMIC_ANA;
		id.anatt = 10;
		id.anacap = ADV_NVME_ANACAP_OPTIMIZED;
		id.anagrpmax = id.nanagrpid = ADV_NVME_ANA_GROUP;
		id.nn = id.mnan = ADV_NVME_NSID_MAX;
		id.fuses = ADV_NVME_FUSES_COMPARE;
		id.oncs = ADV_NVME_ONCS_COMPARE | ADV_NVME_ONCS_DSM | ADV_NVME_ONCS_WRITE_ZEROES |
			  ADV_NVME_ONCS_COPY;
		id.ocfs = ADV_NVME_OCFS_FORMAT_0;
		id.vwc = ADV_NVME_VWC_PRESENT | ADV_NVME_VWC_NO_BROADCAST;
	}
	adv_nvme_identify_controller_encode(&id, request->data);
}

/* Returns the namespace of an Identify; NULL with success: it is inactive. */
static uint16_t identified_namespace(const struct adv_nvme_request *request,
				     struct adv_nvme_namespace **ns)
{
	uint32_t nsid = request->command.nsid;

	if (nsid == 0 || nsid > ADV_NVME_NSID_MAX)
		return ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR;
	*ns = adv_nvme_namespace_find(request->queue->controller->subsystem, nsid);
	return ADV_NVME_SUCCESS;
}

static uint16_t identify_namespace(struct adv_nvme_request *request)
{
	struct adv_nvme_identify_namespace id = {
		.dlfeat = 0x01, /* deallocated blocks read as zeros */
		.nmic = 0x01,	/* several controllers share it */
	};
	struct adv_nvme_namespace *ns;
	uint16_t status = identified_namespace(request, &ns);

	if (status != ADV_NVME_SUCCESS)
		return status;
	if (!ns) {
		memset(request->data, 0, ADV_NVME_IDENTIFY_LEN);
		return ADV_NVME_SUCCESS;
	}
	id.nsze = id.ncap = id.nuse = ns->blocks;
	id.nsfeat = ns->thin ? ADV_NVME_NSFEAT_THIN : 0;
	id.nsattr = ns->read_only ? ADV_NVME_NSATTR_PROTECTED : 0;
	id.mssrl = adv_nvme_copy_range_max(ns);
	id.mcl = id.mssrl * ADV_NVME_SOURCES_MAX;
	id.msrc = ADV_NVME_SOURCES_MAX - 1;
	id.anagrpid = ADV_NVME_ANA_GROUP;
	memcpy(id.nguid, ns->uuid, sizeof(id.nguid));
	id.block_shift = ns->block_shift;
	adv_nvme_identify_namespace_encode(&id, request->data);
	return ADV_NVME_SUCCESS;
}

static uint16_t identify_list(struct adv_nvme_request *request)
{
	struct adv_nvme_subsystem *subsystem = request->queue->controller->subsystem;
	uint32_t nsids[ADV_NVME_LIST_MAX];
	size_t count = 0;

	if (request->command.nsid >= ADV_NVME_ALL_NAMESPACES - 1)
		return ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR;
	for (uint32_t i = request->command.nsid + 1; i <= ADV_NVME_NSID_MAX; i++) {
		if (subsystem->namespaces[i] && count < ADV_NVME_LIST_MAX)
			nsids[count++] = i;
	}
	adv_nvme_identify_list_encode(nsids, count, request->data);
	return ADV_NVME_SUCCESS;
}

static uint16_t identify_descriptors(struct adv_nvme_request *request)
{
	struct adv_nvme_descriptors d = {.has_nguid = true, .has_uuid = true};
	struct adv_nvme_namespace *ns = NULL;
	uint16_t status = identified_namespace(request, &ns);

	if (status != ADV_NVME_SUCCESS)
		return status;
	if (!ns)
		return ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR;
	memcpy(d.nguid, ns->uuid, sizeof(d.nguid));
	memcpy(d.uuid, ns->uuid, sizeof(d.uuid));
	adv_nvme_descriptors_encode(&d, request->data);
	return ADV_NVME_SUCCESS;
}

static uint16_t execute_identify(struct adv_nvme_request *request)
{
	uint8_t cns = (uint8_t)ADV_NVME_CDW(&request->command, 10);

	if (cns == ADV_NVME_CNS_CONTROLLER) {
		identify_controller(request);
		return ADV_NVME_SUCCESS;
	}
	if (request->queue->controller->subsystem->discovery)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	switch (cns) {
	case ADV_NVME_CNS_NAMESPACE:
		return identify_namespace(request);
	case ADV_NVME_CNS_ACTIVE_LIST:
		return identify_list(request);
	case ADV_NVME_CNS_DESCRIPTORS:
		return identify_descriptors(request);
	default:
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	}
}

static void identify_execute(struct adv_nvme_request *request, uint64_t now)
{
	/* While the buffer was awaited, the controller may have been destroyed. */
	if (!request->queue->controller)
		adv_nvme_request_complete(request, ADV_NVME_ABORTED_SQ_DELETION);
	else
		adv_nvme_request_complete(request, execute_identify(request));
}

/* --- without data --- */

static uint16_t no_data_start(struct adv_nvme_request *request)
{
	return ADV_NVME_SUCCESS;
}

static void keep_alive_execute(struct adv_nvme_request *request, uint64_t now)
{
	adv_nvme_controller_keep_alive(request->queue->controller, now);
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
}

static void event_request_execute(struct adv_nvme_request *request, uint64_t now)
{
	if (!adv_nvme_controller_park(request->queue->controller, request))
		adv_nvme_request_complete(request, ADV_NVME_AER_LIMIT | ADV_NVME_DNR);
}

/* Aborts an asynchronous event request. Other commands finish soon: they are not aborted, which bit
 * 0 of the result says. */
static void abort_execute(struct adv_nvme_request *request, uint64_t now)
{
	uint16_t sqid = (uint16_t)ADV_NVME_CDW(&request->command, 10);
	uint16_t cid = (uint16_t)(ADV_NVME_CDW(&request->command, 10) >> 16);
	struct adv_nvme_controller *c = request->queue->controller;

	request->result = 1;
	adv_list_for_each_safe(struct adv_nvme_request, r, &c->event_requests, link) {
		if (sqid != 0 || r->command.id != cid || request->result == 0)
			continue;
		adv_list_del(&r->link);
		c->event_request_count--;
		adv_nvme_request_complete(r, ADV_NVME_ABORT_REQUESTED);
		request->result = 0;
	}
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
}

const struct adv_nvme_handler adv_nvme_admin_handlers[] = {
	{ADV_NVME_GET_LOG_PAGE, adv_nvme_log_start, adv_nvme_log_execute, false},
	{ADV_NVME_IDENTIFY, identify_start, identify_execute, false},
	{ADV_NVME_ABORT, no_data_start, abort_execute, false},
	{ADV_NVME_SET_FEATURES, adv_nvme_set_features_start, adv_nvme_set_features_execute, false},
	{ADV_NVME_GET_FEATURES, adv_nvme_get_features_start, adv_nvme_get_features_execute, false},
	{ADV_NVME_ASYNC_EVENT_REQUEST, no_data_start, event_request_execute, false},
	{ADV_NVME_KEEP_ALIVE, no_data_start, keep_alive_execute, false},
	{0},
};

/* Discovery controllers have fewer commands (NVMe over Fabrics 1.1, section 5.2). */
const struct adv_nvme_handler adv_nvme_discovery_handlers[] = {
	{ADV_NVME_GET_LOG_PAGE, adv_nvme_log_start, adv_nvme_log_execute, false},
	{ADV_NVME_IDENTIFY, identify_start, identify_execute, false},
	{ADV_NVME_SET_FEATURES, adv_nvme_set_features_start, adv_nvme_set_features_execute, false},
	{ADV_NVME_GET_FEATURES, adv_nvme_get_features_start, adv_nvme_get_features_execute, false},
	{ADV_NVME_ASYNC_EVENT_REQUEST, no_data_start, event_request_execute, false},
	{ADV_NVME_KEEP_ALIVE, no_data_start, keep_alive_execute, false},
	{0},
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/client.h"
#include "storage/nvme_target/controller.h"

#include <stdlib.h>
#include <string.h>

#include "storage/nvme_target/outbox.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/reports.h"

/* A discovery controller without a keep alive timeout ends when it has had no command for so long:
 * the activity timeout of NVMe over Fabrics 1.1. */
#define DISCOVERY_MS 120000u

/* CAP (NVMe Base 1.4, section 3.1.1): contiguous queues, the NVM command set. */
#define CAP_CQR	       (1ull << 16)
#define CAP_TO_SHIFT   24 /* 500 ms */
#define CAP_TO	       10ull
#define CAP_CSS_NVM    (1ull << 37)

#define CC_IOSQES(cc)  ((cc) >> 16 & 0xf)
#define CC_IOCQES(cc)  ((cc) >> 20 & 0xf)
#define CC_CSS_MPS(cc) ((cc) >> 4 & 0x7f) /* command set and page size: both must be 0 */

/* Returns an id that no controller has; 0: all are in use. 0 and FFF0h up are never given. */
static uint16_t new_cntlid(struct adv_nvme_target *target)
{
	for (unsigned tries = 0; tries < 0xffef; tries++) {
		bool used = false;

		target->last_cntlid = target->last_cntlid % 0xffef + 1;
		adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link)
			used |= adv_nvme_controller_find(s, target->last_cntlid) != NULL;
		if (!used)
			return target->last_cntlid;
	}
	return 0;
}

struct adv_nvme_controller *adv_nvme_controller_create(struct adv_nvme_subsystem *subsystem,
						       const struct adv_nvme_connect_data *data)
{
	struct adv_nvme_target *target = subsystem->target;
	struct adv_nvme_controller *c;

	if (target->controllers >= target->config.controllers)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c)
		c->queues = calloc(target->config.io_queues + 1u, sizeof(struct adv_nvme_queue *));
	if (!c || !c->queues || (c->cntlid = new_cntlid(target)) == 0) {
		if (c)
			free(c->queues);
		free(c);
		return NULL;
	}
	c->subsystem = subsystem;
	memcpy(c->host_id, data->host_id, sizeof(c->host_id));
	memcpy(c->host_nqn, data->host_nqn, sizeof(c->host_nqn));
	c->keep_alive_end = UINT64_MAX;
	c->io_queues = target->config.io_queues;
	adv_list_init(&c->event_requests);
	if (!subsystem->discovery)
		c->client = adv_nvme_client_get(target, c->host_nqn);
	adv_list_add_tail(&subsystem->controllers, &c->link);
	target->controllers++;
	return c;
}

struct adv_nvme_controller *adv_nvme_controller_find(struct adv_nvme_subsystem *subsystem,
						     uint16_t cntlid)
{
	adv_list_for_each(struct adv_nvme_controller, c, &subsystem->controllers, link) {
		if (c->cntlid == cntlid)
			return c;
	}
	return NULL;
}

static void fail_io_queues(struct adv_nvme_controller *c)
{
	for (unsigned i = 1; i <= c->subsystem->target->config.io_queues; i++) {
		if (c->queues[i])
			adv_nvme_queue_fail(c->queues[i], NULL);
	}
}

void adv_nvme_controller_destroy(struct adv_nvme_controller *c)
{
	fail_io_queues(c);
	for (unsigned i = 1; i <= c->subsystem->target->config.io_queues; i++) {
		if (c->queues[i])
			c->queues[i]->controller = NULL;
	}
	adv_list_del(&c->link);
	adv_nvme_client_put(c->subsystem->target, c->client);
	c->subsystem->target->controllers--;
	free(c->queues);
	free(c);
}

static const char *why_ended(const struct adv_nvme_controller *c)
{
	if (c->why)
		return c->why;
	if ((c->csts & ADV_NVME_CSTS_SHUTDOWN_MASK) == ADV_NVME_CSTS_SHUT_DOWN)
		return "the host has shut down";
	return "the connection has ended";
}

void adv_nvme_controller_remove_queue(struct adv_nvme_queue *queue)
{
	struct adv_nvme_controller *c = queue->controller;

	if (!c)
		return;
	if (queue == c->admin)
		adv_nvme_report_queue(queue, ADV_NVME_REPORT_DISCONNECTED, why_ended(c));
	queue->controller = NULL;
	if (queue == c->admin)
		adv_nvme_controller_destroy(c);
	else
		c->queues[queue->id] = NULL;
}

bool adv_nvme_controller_ready(const struct adv_nvme_controller *c)
{
	return (c->csts & (ADV_NVME_CSTS_READY | ADV_NVME_CSTS_FATAL)) == ADV_NVME_CSTS_READY;
}

static uint64_t controller_capabilities(const struct adv_nvme_controller *c)
{
	return (c->subsystem->target->config.queue_size - 1u) | CAP_CQR | CAP_TO << CAP_TO_SHIFT |
	       CAP_CSS_NVM;
}

bool adv_nvme_controller_get(const struct adv_nvme_controller *c,
			     struct adv_nvme_property_access *access)
{
	switch (access->offset) {
	case ADV_NVME_CAP:
		access->value = controller_capabilities(c);
		return access->wide;
	case ADV_NVME_VS:
		access->value = ADV_NVME_VERSION;
		return !access->wide;
	case ADV_NVME_CC:
		access->value = c->cc;
		return !access->wide;
	case ADV_NVME_CSTS:
		access->value = c->csts;
		return !access->wide;
	case ADV_NVME_NSSR:
		access->value = 0;
		return !access->wide;
	default:
		return false;
	}
}

static void enable_controller(struct adv_nvme_controller *c, uint64_t now, uint32_t cc)
{
	bool sizes = CC_IOSQES(cc) == 6 && CC_IOCQES(cc) == 4;

	if (CC_CSS_MPS(cc) != 0 || (!sizes && !c->subsystem->discovery)) {
		c->csts = ADV_NVME_CSTS_FATAL;
		return;
	}
	c->csts = ADV_NVME_CSTS_READY;
	adv_nvme_controller_keep_alive(c, now);
}

bool adv_nvme_controller_set(struct adv_nvme_controller *c, uint64_t now,
			     const struct adv_nvme_property_access *access)
{
	uint32_t cc = (uint32_t)access->value, old = c->cc;

	if (access->offset != ADV_NVME_CC || access->wide)
		return false;
	c->cc = cc;
	if ((cc & ADV_NVME_CC_ENABLE) && !(old & ADV_NVME_CC_ENABLE)) {
		enable_controller(c, now, cc);
	} else if (!(cc & ADV_NVME_CC_ENABLE) && (old & ADV_NVME_CC_ENABLE)) {
		/* A controller reset: I/O queues end, the admin queue stays. */
		c->csts = 0;
		c->no_write_cache = false;
		c->event_config = 0;
		fail_io_queues(c);
	}
	if (ADV_NVME_CC_SHUTDOWN(cc) && !ADV_NVME_CC_SHUTDOWN(old))
		c->csts |= ADV_NVME_CSTS_SHUTTING_DOWN;
	else if (!ADV_NVME_CC_SHUTDOWN(cc))
		c->csts &= ~ADV_NVME_CSTS_SHUTDOWN_MASK;
	return true;
}

bool adv_nvme_controller_shutting_down(const struct adv_nvme_controller *c)
{
	return (c->csts & ADV_NVME_CSTS_SHUTDOWN_MASK) == ADV_NVME_CSTS_SHUTTING_DOWN;
}

void adv_nvme_controller_shut_down(struct adv_nvme_controller *c)
{
	if (!adv_nvme_controller_shutting_down(c))
		return;
	c->csts &= ~ADV_NVME_CSTS_SHUTDOWN_MASK;
	c->csts |= ADV_NVME_CSTS_SHUT_DOWN;
}

void adv_nvme_controller_set_kato(struct adv_nvme_controller *c, uint64_t now, uint32_t kato)
{
	uint32_t unit = ADV_NVME_KAS * 100;

	if (kato == 0 && c->subsystem->discovery)
		kato = DISCOVERY_MS;
	if (kato > UINT32_MAX - unit)
		kato = UINT32_MAX - unit;
	c->kato = (kato + unit - 1) / unit * unit;
	adv_nvme_controller_keep_alive(c, now);
}

void adv_nvme_controller_keep_alive(struct adv_nvme_controller *c, uint64_t now)
{
	c->keep_alive_end = c->kato ? now + c->kato * ADV_NVME_MS : UINT64_MAX;
}

void adv_nvme_controller_stop(struct adv_nvme_controller *c, const char *why)
{
	c->why = why;
	c->keep_alive_end = UINT64_MAX;
	c->csts |= ADV_NVME_CSTS_FATAL;
	fail_io_queues(c);
	if (c->admin)
		adv_nvme_queue_fail(c->admin, NULL);
}

void adv_nvme_controller_namespace_changed(struct adv_nvme_controller *c, uint32_t nsid)
{
	unsigned at = 0;

	/* The list is in rising order. */
	while (at < c->changed_count && c->changed[at] < nsid)
		at++;
	if (at == c->changed_count || c->changed[at] != nsid) {
		memmove(&c->changed[at + 1], &c->changed[at],
			(c->changed_count - at) * sizeof(c->changed[0]));
		c->changed[at] = nsid;
		c->changed_count++;
	}
	c->events_pending |= ADV_NVME_PENDING_NAMESPACE;
	adv_nvme_controller_report_events(c);
}

void adv_nvme_controller_discovery_changed(struct adv_nvme_controller *c)
{
	c->events_pending |= ADV_NVME_PENDING_DISCOVERY;
	adv_nvme_controller_report_events(c);
}

static bool report_event(struct adv_nvme_controller *c, uint8_t event, uint32_t enabled_by,
			 uint32_t result)
{
	struct adv_nvme_request *request;

	if (!(c->events_pending & event) || (c->events_masked & event) ||
	    !(c->event_config & enabled_by) || adv_list_empty(&c->event_requests))
		return false;
	request = adv_container_of(c->event_requests.next, struct adv_nvme_request, link);
	adv_list_del(&request->link);
	c->event_request_count--;
	c->events_pending &= (uint8_t)~event;
	c->events_masked |= event;
	request->result = result;
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
	return true;
}

void adv_nvme_controller_report_events(struct adv_nvme_controller *c)
{
	report_event(c, ADV_NVME_PENDING_NAMESPACE, ADV_NVME_OAES_NAMESPACE,
		     ADV_NVME_EVENT_NAMESPACE);
	report_event(c, ADV_NVME_PENDING_DISCOVERY, ADV_NVME_OAES_DISCOVERY,
		     ADV_NVME_EVENT_DISCOVERY);
}

void adv_nvme_controller_unmask(struct adv_nvme_controller *c, uint8_t event)
{
	c->events_masked &= (uint8_t)~event;
	adv_nvme_controller_report_events(c);
}

bool adv_nvme_controller_park(struct adv_nvme_controller *c, struct adv_nvme_request *request)
{
	if (c->event_request_count >= ADV_NVME_AER_MAX)
		return false;
	request->state = ADV_NVME_REQUEST_PARKED;
	adv_list_add_tail(&c->event_requests, &request->link);
	c->event_request_count++;
	adv_nvme_controller_report_events(c);
	return true;
}

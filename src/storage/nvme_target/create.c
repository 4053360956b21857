/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/outbox.h"
#include "storage/nvme_target/subsystem.h"

enum {
	DEFAULT_IO_QUEUES = 128,
	DEFAULT_QUEUE_SIZE = 128,
	DEFAULT_IN_CAPSULE = 4096,
	DEFAULT_MDTS = 8,
	DEFAULT_CONTROLLERS = 4096,
	DEFAULT_CONNECT_MS = 30000,
};

struct adv_nvme_target *adv_nvme_target_create(const struct adv_nvme_target_config *config)
{
	struct adv_nvme_target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->config = *config;
	if (!target->config.io_queues)
		target->config.io_queues = DEFAULT_IO_QUEUES;
	if (!target->config.queue_size)
		target->config.queue_size = DEFAULT_QUEUE_SIZE;
	if (!target->config.in_capsule)
		target->config.in_capsule = DEFAULT_IN_CAPSULE;
	if (!target->config.mdts)
		target->config.mdts = DEFAULT_MDTS;
	if (!target->config.controllers)
		target->config.controllers = DEFAULT_CONTROLLERS;
	if (!target->config.connect_ms)
		target->config.connect_ms = DEFAULT_CONNECT_MS;
	adv_list_init(&target->subsystems);
	adv_list_init(&target->leaving);
	adv_list_init(&target->ports);
	adv_list_init(&target->queues);
	adv_list_init(&target->clients);
	adv_list_init(&target->unconnected);
	adv_list_init(&target->removed);
	if (adv_nvme_subsystem_create(target, ADV_NVME_DISCOVERY_NQN, "discovery", true,
				      &target->discovery) != 0) {
		free(target);
		return NULL;
	}
	return target;
}

void adv_nvme_target_destroy(struct adv_nvme_target *target)
{
	adv_list_for_each_safe(struct adv_nvme_subsystem, s, &target->subsystems, link)
		adv_nvme_subsystem_destroy(s);
	adv_list_for_each_safe(struct adv_nvme_subsystem, s, &target->leaving, link)
		adv_nvme_subsystem_destroy(s);
	adv_list_for_each_safe(struct adv_nvme_client, c, &target->clients, link) {
		adv_list_del(&c->link);
		free(c);
	}
	adv_list_for_each_safe(struct adv_nvme_port, p, &target->ports, link) {
		adv_list_del(&p->link);
		free(p);
	}
	adv_list_for_each_safe(struct adv_nvme_namespace, ns, &target->removed, link) {
		adv_list_del(&ns->link);
		free(ns);
	}
	free(target);
}

uint32_t adv_nvme_target_capsule_len(const struct adv_nvme_target *target)
{
	return ADV_NVME_COMMAND_LEN + target->config.in_capsule;
}

uint32_t adv_nvme_target_transfer_max(const struct adv_nvme_target *target)
{
	return 1u << (target->config.mdts + ADV_NVME_PAGE_SHIFT);
}

struct adv_nvme_queue *adv_nvme_target_unconnected(struct adv_nvme_target *target,
						   const struct adv_nvme_queue *after)
{
	const struct adv_list *at = after ? &after->unconnected : &target->unconnected;

	return at->next == &target->unconnected
		       ? NULL
		       : adv_container_of(at->next, struct adv_nvme_queue, unconnected);
}

uint64_t adv_nvme_target_deadline(struct adv_nvme_target *target)
{
	const struct adv_nvme_queue *oldest = adv_nvme_target_unconnected(target, NULL);
	uint64_t earliest = oldest ? oldest->connect_end : UINT64_MAX;

	adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
		adv_list_for_each(struct adv_nvme_controller, c, &s->controllers, link) {
			if (c->keep_alive_end < earliest)
				earliest = c->keep_alive_end;
		}
	}
	return earliest;
}

void adv_nvme_target_expire(struct adv_nvme_target *target, uint64_t now)
{
	struct adv_nvme_queue *oldest;

	while ((oldest = adv_nvme_target_unconnected(target, NULL)) != NULL &&
	       oldest->connect_end <= now)
		adv_nvme_queue_fail(oldest, "no Connect has come in time");
	adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
		adv_list_for_each(struct adv_nvme_controller, c, &s->controllers, link) {
			if (c->keep_alive_end <= now)
				adv_nvme_controller_stop(c, "no keep alive has come in time");
		}
	}
}

/* Queues of a controller, and those that have not connected yet. */
void adv_nvme_target_close_all(struct adv_nvme_target *target)
{
	adv_list_for_each(struct adv_nvme_queue, queue, &target->queues, all)
		adv_nvme_queue_fail(queue, NULL);
}

static int add_port(struct adv_nvme_target *target, bool referral, uint8_t adrfam,
		    const char *traddr, const char *trsvcid)
{
	struct adv_nvme_port *port;

	if (strlen(traddr) > ADV_NVME_TRADDR_LEN || strlen(trsvcid) > ADV_NVME_TRSVCID_LEN)
		return EINVAL;
	port = calloc(1, sizeof(*port));
	if (!port)
		return ENOMEM;
	port->referral = referral;
	port->adrfam = adrfam;
	strncpy(port->traddr, traddr, ADV_NVME_TRADDR_LEN);
	strncpy(port->trsvcid, trsvcid, ADV_NVME_TRSVCID_LEN);
	adv_list_add_tail(&target->ports, &port->link);
	adv_nvme_target_discovery_changed(target);
	return 0;
}

int adv_nvme_target_add_port(struct adv_nvme_target *target, uint8_t adrfam, const char *traddr,
			     const char *trsvcid)
{
	return add_port(target, false, adrfam, traddr, trsvcid);
}

int adv_nvme_target_add_referral(struct adv_nvme_target *target, uint8_t adrfam, const char *traddr,
				 const char *trsvcid)
{
	return add_port(target, true, adrfam, traddr, trsvcid);
}

void adv_nvme_target_remove_referrals(struct adv_nvme_target *target)
{
	adv_list_for_each_safe(struct adv_nvme_port, p, &target->ports, link) {
		if (!p->referral)
			continue;
		adv_list_del(&p->link);
		free(p);
	}
	adv_nvme_target_discovery_changed(target);
}

void adv_nvme_target_count(const struct adv_nvme_target *target,
			   struct adv_nvme_target_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
		counts->subsystems++;
		counts->namespaces += s->namespace_count;
	}
	counts->controllers = target->controllers;
	counts->queues = adv_list_length(&target->queues);
}

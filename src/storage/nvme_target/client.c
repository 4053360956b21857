/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/client.h"

#include <stdlib.h>
#include <string.h>

#include "storage/nvme/status.h"
#include "storage/kit/text.h"

/* Makes room for one more: of those without a controller the one goes that left first. */
static bool make_room(struct adv_nvme_target *target)
{
	if (target->client_count < ADV_NVME_CLIENTS_MAX)
		return true;
	adv_list_for_each_safe(struct adv_nvme_client, c, &target->clients, link) {
		if (c->controllers > 0)
			continue;
		adv_list_del(&c->link);
		free(c);
		target->client_count--;
		return true;
	}
	return false;
}

struct adv_nvme_client *adv_nvme_client_get(struct adv_nvme_target *target, const char *nqn)
{
	char name[ADV_NVME_NQN_LEN];
	struct adv_nvme_client *client;

	adv_kit_copy_printable(name, nqn, sizeof(name));
	adv_list_for_each(struct adv_nvme_client, c, &target->clients, link) {
		if (strcmp(c->nqn, name) != 0)
			continue;
		c->controllers++;
		return c;
	}
	client = make_room(target) ? calloc(1, sizeof(*client)) : NULL;
	if (!client)
		return NULL;
	memcpy(client->nqn, name, sizeof(client->nqn));
	client->controllers = 1;
	adv_list_add_tail(&target->clients, &client->link);
	target->client_count++;
	return client;
}

void adv_nvme_client_put(struct adv_nvme_target *target, struct adv_nvme_client *client)
{
	if (!client || --client->controllers > 0)
		return;
	/* The list is in the order in which they left. */
	adv_list_del(&client->link);
	adv_list_add_tail(&target->clients, &client->link);
}

static void add_command(struct adv_nvme_stats *s, const struct adv_nvme_request *request,
			uint64_t ns)
{
	if (request->status != ADV_NVME_SUCCESS) {
		s->errors++;
	} else if (request->io.kind == ADV_NVME_IO_READ) {
		s->reads++;
		s->read_bytes += request->io.length;
		s->read_ns += ns;
	} else if (request->io.kind == ADV_NVME_IO_WRITE) {
		s->writes++;
		s->write_bytes += request->io.length;
		s->write_ns += ns;
	} else {
		s->others++;
		s->other_ns += ns;
	}
}

void adv_nvme_client_count(const struct adv_nvme_request *request, uint64_t now)
{
	const struct adv_nvme_controller *c = request->queue->controller;
	uint64_t ns = now - request->begun;

	if (request->queue->id == 0 || !request->namespace)
		return;
	add_command(&request->namespace->stats, request, ns);
	if (c && c->client)
		add_command(&c->client->stats, request, ns);
}

size_t adv_nvme_subsystem_stats(const struct adv_nvme_subsystem *subsystem,
				struct adv_nvme_namespace_stats rows[ADV_NVME_LIST_MAX])
{
	size_t count = 0;

	for (uint32_t i = 1; i <= ADV_NVME_NSID_MAX; i++) {
		const struct adv_nvme_namespace *ns = subsystem->namespaces[i];

		if (ns)
			rows[count++] = (struct adv_nvme_namespace_stats){
				i, ns->blocks << ns->block_shift, ns->stats};
	}
	return count;
}

size_t adv_nvme_target_client_stats(const struct adv_nvme_target *target,
				    struct adv_nvme_client_stats rows[ADV_NVME_CLIENTS_MAX])
{
	size_t count = 0;

	adv_list_for_each(struct adv_nvme_client, c, &target->clients, link) {
		memcpy(rows[count].nqn, c->nqn, sizeof(c->nqn));
		rows[count].controllers = c->controllers;
		rows[count++].stats = c->stats;
	}
	return count;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/stat_reply.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "storage/nvme_server/stat_client.h"

/* Adds a namespace or a host to its list. */
static void add_row(struct json_object *const *lists, const char *nqn, uint32_t nsid,
		    uint64_t gauge, const struct adv_nvme_stats *stats)
{
	struct adv_kit_stat_row row = {.list = nsid == 0, .nsid = nsid, .gauge = gauge};

	snprintf(row.name, sizeof(row.name), "%s", nqn);
	memcpy(row.counts, stats, sizeof(*stats));
	adv_kit_stat_add(&adv_nvme_stat_kind, lists, &row);
}

/* Adds the namespaces of the n-th subsystem. False: there is none. The lock is held for the copy
 * only. */
static bool add_namespaces(struct adv_nvme_shared *shared, unsigned n,
			   struct json_object *const *lists)
{
	static struct adv_nvme_namespace_stats rows[ADV_NVME_LIST_MAX];
	struct adv_nvme_subsystem *subsystem;
	char nqn[ADV_NVME_NQN_LEN];
	size_t count = 0;

	pthread_mutex_lock(&shared->lock);
	subsystem = adv_nvme_target_subsystem(shared->target, n);
	if (subsystem) {
		snprintf(nqn, sizeof(nqn), "%s", adv_nvme_subsystem_nqn(subsystem));
		count = adv_nvme_subsystem_stats(subsystem, rows);
	}
	pthread_mutex_unlock(&shared->lock);
	for (size_t i = 0; i < count; i++)
		add_row(lists, nqn, rows[i].nsid, rows[i].bytes, &rows[i].stats);
	return subsystem;
}

static void add_clients(struct adv_nvme_shared *shared, struct json_object *const *lists)
{
	static struct adv_nvme_client_stats rows[ADV_NVME_CLIENTS_MAX];
	size_t count;

	pthread_mutex_lock(&shared->lock);
	count = adv_nvme_target_client_stats(shared->target, rows);
	pthread_mutex_unlock(&shared->lock);
	for (size_t i = 0; i < count; i++)
		add_row(lists, rows[i].nqn, 0, rows[i].controllers, &rows[i].stats);
}

void adv_nvme_stat_send(struct adv_nvme_subsystems *s, int fd)
{
	struct json_object *lists[] = {json_object_new_array(), json_object_new_array()};
	unsigned n = 0;

	while (add_namespaces(s->shared, n, lists))
		n++;
	add_clients(s->shared, lists);
	adv_kit_stat_send(&adv_nvme_stat_kind, lists, fd);
}

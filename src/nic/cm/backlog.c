/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/cm/backlog.h"

#include <stdlib.h>

#include "nic/cm/hash.h"

static struct adv_cm_host *find_or_add_host(struct adv_cm *cm, const struct adv_gid *gid)
{
	uint64_t hash = adv_cm_hash_gid(cm->hash_key, gid, 0, 0);
	struct adv_table_node *n = NULL;
	struct adv_cm_host *host;

	while ((n = adv_table_next(&cm->hosts, hash, n))) {
		host = adv_container_of(n, struct adv_cm_host, node);
		if (adv_gid_equal(&host->gid, gid))
			return host;
	}
	host = malloc(sizeof(*host));
	if (!host)
		return NULL;
	adv_table_node_init(&host->node);
	host->gid = *gid;
	host->requests = 0;
	adv_table_add(&cm->hosts, &host->node, hash);
	return host;
}

static void release_host(struct adv_cm *cm, struct adv_cm_host *host)
{
	if (host->requests)
		return;
	adv_table_remove(&cm->hosts, &host->node);
	free(host);
}

void adv_cm_id_answered(struct adv_cm_id *id)
{
	struct adv_cm_host *host = id->host;

	if (!host)
		return;
	id->host = NULL;
	host->requests--;
	release_host(id->cm, host);
}

void adv_cm_request_taken(struct adv_cm_id *id)
{
	if (!id->listener)
		return;
	id->listener->waiting--;
	adv_list_del(&id->request_link);
	id->listener = NULL;
}

/* No remote address may have more than an eighth of all ids for its unanswered requests. */
static bool host_is_full(const struct adv_cm *cm, const struct adv_cm_host *host)
{
	return host->requests >= cm->config.max_ids / 8 + 1;
}

bool adv_cm_backlog_reserve(struct adv_cm_id *listener, const struct adv_gid *from,
			    struct adv_cm_host **host)
{
	struct adv_cm *cm = listener->cm;

	if (listener->waiting >= listener->backlog)
		return false;
	*host = find_or_add_host(cm, from);
	if (!*host)
		return false;
	if (!host_is_full(cm, *host))
		return true;
	release_host(cm, *host);
	return false;
}

void adv_cm_backlog_cancel(struct adv_cm *cm, struct adv_cm_host *host)
{
	release_host(cm, host);
}

void adv_cm_backlog_enter(struct adv_cm_id *id, struct adv_cm_id *listener,
			  struct adv_cm_host *host)
{
	host->requests++;
	id->host = host;
	id->listener = listener;
	listener->waiting++;
	adv_list_add_tail(&listener->requests, &id->request_link);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/stat_reply.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "storage/nvme_target/stats.h"
#include "storage/nvme_server/stat_file.h"

static void add_number(struct json_object *o, const char *key, uint64_t number)
{
	json_object_object_add(o, key, json_object_new_uint64(number));
}

static void add_stats(struct json_object *o, const struct adv_nvme_stats *s)
{
	add_number(o, "reads", s->reads);
	add_number(o, "writes", s->writes);
	add_number(o, "others", s->others);
	add_number(o, "errors", s->errors);
	add_number(o, "read_bytes", s->read_bytes);
	add_number(o, "write_bytes", s->write_bytes);
	add_number(o, "read_ns", s->read_ns);
	add_number(o, "write_ns", s->write_ns);
	add_number(o, "other_ns", s->other_ns);
}

/* Adds the namespaces of the n-th subsystem. False: there is none. The lock is held for the copy
 * only. */
static bool add_namespaces(struct adv_nvme_shared *shared, unsigned n, struct json_object *list)
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
	for (size_t i = 0; i < count; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "subsystem", json_object_new_string(nqn));
		add_number(o, "nsid", rows[i].nsid);
		add_number(o, "bytes", rows[i].bytes);
		add_stats(o, &rows[i].stats);
		json_object_array_add(list, o);
	}
	return subsystem;
}

static void add_clients(struct adv_nvme_shared *shared, struct json_object *list)
{
	static struct adv_nvme_client_stats rows[ADV_NVME_CLIENTS_MAX];
	size_t count;

	pthread_mutex_lock(&shared->lock);
	count = adv_nvme_target_client_stats(shared->target, rows);
	pthread_mutex_unlock(&shared->lock);
	for (size_t i = 0; i < count; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "host", json_object_new_string(rows[i].nqn));
		add_number(o, "controllers", rows[i].controllers);
		add_stats(o, &rows[i].stats);
		json_object_array_add(list, o);
	}
}

void adv_nvme_stat_send(struct adv_nvme_subsystems *s, int fd)
{
	struct json_object *top = json_object_new_object();
	struct json_object *namespaces = json_object_new_array(), *hosts = json_object_new_array();
	unsigned n = 0;

	add_number(top, "at_ns", adv_clock_ns());
	while (add_namespaces(s->shared, n, namespaces))
		n++;
	add_clients(s->shared, hosts);
	json_object_object_add(top, "namespaces", namespaces);
	json_object_object_add(top, "hosts", hosts);
	adv_nvme_stat_file_send(top, fd);
}

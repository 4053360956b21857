/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/stat_client.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/kit/text.h"
#include "storage/nvme_server/stat_file.h"

/* --- reading --- */

static uint64_t get_number(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_uint64(value) : 0;
}

static void get_name(struct json_object *o, const char *key, char name[ADV_NVME_NQN_LEN])
{
	struct json_object *value;

	name[0] = 0;
	if (json_object_object_get_ex(o, key, &value))
		adv_kit_copy_printable(name, json_object_get_string(value), ADV_NVME_NQN_LEN);
}

static void get_row(struct json_object *o, struct adv_nvme_stat_row *row)
{
	row->nsid = (uint32_t)get_number(o, "nsid");
	get_name(o, row->nsid ? "subsystem" : "host", row->nqn);
	row->bytes = get_number(o, "bytes");
	row->controllers = get_number(o, "controllers");
	row->stats = (struct adv_nvme_stats){
		.reads = get_number(o, "reads"),
		.writes = get_number(o, "writes"),
		.others = get_number(o, "others"),
		.errors = get_number(o, "errors"),
		.read_bytes = get_number(o, "read_bytes"),
		.write_bytes = get_number(o, "write_bytes"),
		.read_ns = get_number(o, "read_ns"),
		.write_ns = get_number(o, "write_ns"),
		.other_ns = get_number(o, "other_ns"),
	};
}

/* Appends the rows of a list. False: no memory, or it is none. */
static bool get_rows(struct json_object *top, const char *key, struct adv_nvme_stat *stat)
{
	struct adv_nvme_stat_row *larger;
	struct json_object *list;
	size_t count;

	if (!json_object_object_get_ex(top, key, &list) ||
	    !json_object_is_type(list, json_type_array))
		return false;
	count = json_object_array_length(list);
	larger = realloc(stat->row, (stat->count + count + 1) * sizeof(*larger));
	if (!larger)
		return false;
	stat->row = larger;
	for (size_t i = 0; i < count; i++)
		get_row(json_object_array_get_idx(list, i), &stat->row[stat->count++]);
	return true;
}

bool adv_nvme_stat_read(const char *target, struct adv_nvme_stat *stat,
			char why[ADV_NVME_CONTROL_REPLY])
{
	char *text = adv_nvme_stat_file_fetch(&adv_nvme_control_target, target, why);
	struct json_object *top = text ? json_tokener_parse(text) : NULL;
	bool ok;

	memset(stat, 0, sizeof(*stat));
	free(text);
	if (!text)
		return false;
	snprintf(stat->target, sizeof(stat->target), "%s", target);
	ok = top && get_rows(top, "namespaces", stat) && get_rows(top, "hosts", stat);
	if (ok)
		stat->at_ns = get_number(top, "at_ns");
	else
		snprintf(why, ADV_NVME_CONTROL_REPLY, "the reply of the target cannot be read");
	json_object_put(top);
	if (!ok)
		adv_nvme_stat_free(stat);
	return ok;
}

void adv_nvme_stat_free(struct adv_nvme_stat *stat)
{
	free(stat->row);
	memset(stat, 0, sizeof(*stat));
}

/* --- rates --- */

const struct adv_nvme_stat_row *adv_nvme_stat_find(const struct adv_nvme_stat *last,
						   const struct adv_nvme_stat_row *row)
{
	for (size_t i = 0; i < last->count; i++) {
		if (last->row[i].nsid == row->nsid && strcmp(last->row[i].nqn, row->nqn) == 0)
			return &last->row[i];
	}
	return NULL;
}

/* A namespace or a host that has come again begins at 0. */
static uint64_t count_growth(uint64_t now, uint64_t last)
{
	return now >= last ? now - last : now;
}

static double mean_us(uint64_t ns, uint64_t commands)
{
	return commands ? (double)ns / 1000 / (double)commands : 0;
}

struct adv_nvme_rates adv_nvme_stat_rates(const struct adv_nvme_stat_row *now,
					  const struct adv_nvme_stat_row *last, double seconds)
{
	const struct adv_nvme_stats zero = {0}, *n = &now->stats, *l = last ? &last->stats : &zero;
	uint64_t reads = count_growth(n->reads, l->reads),
		 writes = count_growth(n->writes, l->writes);
	double per = seconds > 0 ? 1 / seconds : 0;

	return (struct adv_nvme_rates){
		.reads = (double)reads * per,
		.writes = (double)writes * per,
		.read_bytes = (double)count_growth(n->read_bytes, l->read_bytes) * per,
		.write_bytes = (double)count_growth(n->write_bytes, l->write_bytes) * per,
		.read_us = mean_us(count_growth(n->read_ns, l->read_ns), reads),
		.write_us = mean_us(count_growth(n->write_ns, l->write_ns), writes),
		.errors = count_growth(n->errors, l->errors),
	};
}

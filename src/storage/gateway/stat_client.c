/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/stat_client.h"

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

static void get_row(struct json_object *o, const char *kind, struct adv_gateway_stat_row *row)
{
	struct json_object *name;

	memset(row, 0, sizeof(*row));
	if (json_object_object_get_ex(o, kind, &name))
		adv_kit_copy_printable(row->name, json_object_get_string(name), sizeof(row->name));
	row->server = strcmp(kind, "server") == 0;
	row->connections = get_number(o, "connections");
	row->counts = (struct adv_gateway_counts){
		.calls = get_number(o, "calls"),
		.errors = get_number(o, "errors"),
		.call_bytes = get_number(o, "call_bytes"),
		.reply_bytes = get_number(o, "reply_bytes"),
		.timed = get_number(o, "timed_calls"),
		.ns = get_number(o, "ns"),
	};
}

/* Appends the rows of the list "<kind>s". False: no memory, or it is none. */
static bool get_rows(struct json_object *top, const char *kind, struct adv_gateway_stat *stat)
{
	struct adv_gateway_stat_row *larger;
	struct json_object *list;
	char key[16];
	size_t count;

	snprintf(key, sizeof(key), "%ss", kind);
	if (!json_object_object_get_ex(top, key, &list) ||
	    !json_object_is_type(list, json_type_array))
		return false;
	count = json_object_array_length(list);
	larger = realloc(stat->row, (stat->count + count + 1) * sizeof(*larger));
	if (!larger)
		return false;
	stat->row = larger;
	for (size_t i = 0; i < count; i++)
		get_row(json_object_array_get_idx(list, i), kind, &stat->row[stat->count++]);
	return true;
}

bool adv_gateway_stat_read(const char *gateway, struct adv_gateway_stat *stat,
			   char why[ADV_NVME_CONTROL_REPLY])
{
	char *text = adv_nvme_stat_file_fetch(&adv_nvme_control_gateway, gateway, why);
	struct json_object *top = text ? json_tokener_parse(text) : NULL;
	bool ok;

	memset(stat, 0, sizeof(*stat));
	free(text);
	if (!text)
		return false;
	snprintf(stat->gateway, sizeof(stat->gateway), "%s", gateway);
	ok = top && get_rows(top, "server", stat) && get_rows(top, "client", stat);
	if (ok)
		stat->at_ns = get_number(top, "at_ns");
	else
		snprintf(why, ADV_NVME_CONTROL_REPLY, "the reply of the gateway cannot be read");
	json_object_put(top);
	if (!ok)
		adv_gateway_stat_free(stat);
	return ok;
}

void adv_gateway_stat_free(struct adv_gateway_stat *stat)
{
	free(stat->row);
	memset(stat, 0, sizeof(*stat));
}

/* --- rates --- */

const struct adv_gateway_stat_row *adv_gateway_stat_find(const struct adv_gateway_stat *last,
							 const struct adv_gateway_stat_row *row)
{
	for (size_t i = 0; i < last->count; i++) {
		if (last->row[i].server == row->server && strcmp(last->row[i].name, row->name) == 0)
			return &last->row[i];
	}
	return NULL;
}

/* A client that has come again, or a new gateway, begins at 0. */
static uint64_t count_growth(uint64_t now, uint64_t last)
{
	return now >= last ? now - last : now;
}

struct adv_gateway_rates adv_gateway_stat_rates(const struct adv_gateway_stat_row *now,
						const struct adv_gateway_stat_row *last,
						double seconds)
{
	const struct adv_gateway_counts zero = {0}, *n = &now->counts;
	const struct adv_gateway_counts *l = last ? &last->counts : &zero;
	uint64_t timed = count_growth(n->timed, l->timed);
	double per = seconds > 0 ? 1 / seconds : 0;

	return (struct adv_gateway_rates){
		.calls = (double)count_growth(n->calls, l->calls) * per,
		.call_bytes = (double)count_growth(n->call_bytes, l->call_bytes) * per,
		.reply_bytes = (double)count_growth(n->reply_bytes, l->reply_bytes) * per,
		.us = timed ? (double)count_growth(n->ns, l->ns) / 1000 / (double)timed : 0,
		.errors = count_growth(n->errors, l->errors),
	};
}

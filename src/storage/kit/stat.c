/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/kit/stat.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/kit/stat_file.h"
#include "storage/kit/text.h"

/* --- sending --- */

static void add_number(struct json_object *o, const char *key, uint64_t number)
{
	json_object_object_add(o, key, json_object_new_uint64(number));
}

void adv_kit_stat_add(const struct adv_kit_stat_kind *kind, struct json_object *const *lists,
		      const struct adv_kit_stat_row *row)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, kind->list[row->list].name, json_object_new_string(row->name));
	if (row->nsid)
		add_number(o, "nsid", row->nsid);
	if (kind->list[row->list].gauge)
		add_number(o, kind->list[row->list].gauge, row->gauge);
	for (unsigned i = 0; i < ADV_KIT_STAT_COUNTS && kind->counts[i]; i++)
		add_number(o, kind->counts[i], row->counts[i]);
	json_object_array_add(lists[row->list], o);
}

void adv_kit_stat_send(const struct adv_kit_stat_kind *kind, struct json_object *const *lists,
		       int fd)
{
	struct json_object *top = json_object_new_object();

	add_number(top, "at_ns", adv_clock_ns());
	for (unsigned i = 0; i < ADV_KIT_STAT_LISTS; i++)
		json_object_object_add(top, kind->list[i].key, lists[i]);
	adv_kit_stat_file_send(top, fd);
}

/* --- reading --- */

static uint64_t get_number(struct json_object *o, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_uint64(value) : 0;
}

static void get_row(struct json_object *o, struct adv_kit_stat *stat, unsigned list)
{
	const struct adv_kit_stat_kind *kind = stat->kind;
	struct adv_kit_stat_row *row = &stat->row[stat->count++];
	struct json_object *name;

	memset(row, 0, sizeof(*row));
	row->list = list;
	if (json_object_object_get_ex(o, kind->list[list].name, &name))
		adv_kit_copy_printable(row->name, json_object_get_string(name), sizeof(row->name));
	row->nsid = (uint32_t)get_number(o, "nsid");
	if (kind->list[list].gauge)
		row->gauge = get_number(o, kind->list[list].gauge);
	for (unsigned i = 0; i < ADV_KIT_STAT_COUNTS && kind->counts[i]; i++)
		row->counts[i] = get_number(o, kind->counts[i]);
}

/* Appends the rows of a list. False: no memory, or it is none. */
static bool get_rows(struct json_object *top, struct adv_kit_stat *stat, unsigned list)
{
	struct adv_kit_stat_row *larger;
	struct json_object *array;
	size_t count;

	if (!json_object_object_get_ex(top, stat->kind->list[list].key, &array) ||
	    !json_object_is_type(array, json_type_array))
		return false;
	count = json_object_array_length(array);
	larger = realloc(stat->row, (stat->count + count + 1) * sizeof(*larger));
	if (!larger)
		return false;
	stat->row = larger;
	for (size_t i = 0; i < count; i++)
		get_row(json_object_array_get_idx(array, i), stat, list);
	return true;
}

bool adv_kit_stat_read(const struct adv_kit_stat_kind *kind, const char *program,
		       struct adv_kit_stat *stat, char why[ADV_KIT_CONTROL_REPLY])
{
	char *text = adv_kit_stat_file_fetch(kind->control, program, why);
	struct json_object *top = text ? json_tokener_parse(text) : NULL;
	bool ok;

	memset(stat, 0, sizeof(*stat));
	free(text);
	if (!text)
		return false;
	stat->kind = kind;
	snprintf(stat->program, sizeof(stat->program), "%.*s", (int)ADV_KIT_CONTROL_NAME, program);
	ok = top && get_rows(top, stat, 0) && get_rows(top, stat, 1);
	if (ok)
		stat->at_ns = get_number(top, "at_ns");
	else
		snprintf(why, ADV_KIT_CONTROL_REPLY, "the reply of the %s cannot be read",
			 kind->control->noun);
	json_object_put(top);
	if (!ok)
		adv_kit_stat_free(stat);
	return ok;
}

size_t adv_kit_stat_read_all(const struct adv_kit_stat_kind *kind,
			     struct adv_kit_stat stats[ADV_KIT_CONTROL_NAMES])
{
	char names[ADV_KIT_CONTROL_NAMES][ADV_KIT_CONTROL_NAME + 1], why[ADV_KIT_CONTROL_REPLY];
	size_t named = adv_kit_control_names(kind->control, names), count = 0;

	for (size_t i = 0; i < named; i++)
		count += adv_kit_stat_read(kind, names[i], &stats[count], why);
	return count;
}

void adv_kit_stat_free(struct adv_kit_stat *stat)
{
	free(stat->row);
	memset(stat, 0, sizeof(*stat));
}

/* --- growth --- */

const struct adv_kit_stat_row *adv_kit_stat_find(const struct adv_kit_stat *last,
						 const struct adv_kit_stat_row *row)
{
	for (size_t i = 0; i < last->count; i++) {
		const struct adv_kit_stat_row *r = &last->row[i];

		if (r->list == row->list && r->nsid == row->nsid && strcmp(r->name, row->name) == 0)
			return r;
	}
	return NULL;
}

void adv_kit_stat_growth(const struct adv_kit_stat_row *now, const struct adv_kit_stat_row *last,
			 void *counts, size_t size)
{
	uint64_t grown[ADV_KIT_STAT_COUNTS];

	for (unsigned i = 0; i < ADV_KIT_STAT_COUNTS; i++) {
		uint64_t before = last ? last->counts[i] : 0;

		grown[i] = now->counts[i] - (now->counts[i] >= before ? before : 0);
	}
	memcpy(counts, grown, size);
}

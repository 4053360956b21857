/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command/command.h"

#include "runtime/identity/roce.h"

void adv_format_gid(char text[ADV_GID_TEXT], const struct adv_gid *gid)
{
	char *p = text;

	for (int i = 0; i < 16; i += 2)
		p += snprintf(p, 6, "%s%02x%02x", i ? ":" : "", gid->raw[i], gid->raw[i + 1]);
}

void adv_format_guid(char text[20], uint64_t guid)
{
	uint8_t raw[8];

	memcpy(raw, &guid, sizeof(raw));
	snprintf(text, 20, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", raw[0], raw[1], raw[2], raw[3],
		 raw[4], raw[5], raw[6], raw[7]);
}

const char *adv_format_gid_type(const struct adv_gid_entry *entry)
{
	return entry->type == ADV_GID_ROCE_V1 ? "IB/RoCE v1" : "RoCE v2";
}

bool adv_cli_gids(struct adv_control *c, struct adv_gid_table *copy)
{
	if (adv_gid_table_read(adv_control_gids(c), copy)) {
		adv_roce_change_table(copy, adv_roce());
		return true;
	}
	fprintf(stderr, "adverb: adverbd's GID table changes too often: try again\n");
	return false;
}

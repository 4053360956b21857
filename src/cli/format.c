/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/command.h"

#include <arpa/inet.h>

void adv_format_gid(char text[ADV_GID_TEXT], const struct adv_gid *gid)
{
	char *p = text;

	for (int i = 0; i < 16; i += 2)
		p += snprintf(p, 6, "%s%02x%02x", i ? ":" : "", gid->raw[i], gid->raw[i + 1]);
}

void adv_format_address(char text[ADV_GID_TEXT + 8], const struct adv_gid *gid)
{
	bool ipv4 = adv_gid_is_ipv4(gid);

	if (!inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? gid->raw + 12 : gid->raw, text,
		       ADV_GID_TEXT + 8))
		snprintf(text, ADV_GID_TEXT + 8, "?");
}

void adv_format_guid(char text[20], uint64_t guid)
{
	uint8_t raw[8];

	memcpy(raw, &guid, sizeof(raw));
	snprintf(text, 20, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", raw[0], raw[1], raw[2], raw[3],
		 raw[4], raw[5], raw[6], raw[7]);
}

/* Bytes of the character that begins here; 0: it is not UTF-8 (RFC 3629). */
static size_t utf8_length(const unsigned char *s)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (*s < 0x80)
		return 1;
	if (*s < 0xc2 || *s > 0xf4)
		return 0;
	len = *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	/* The shortest form only, no surrogate, nothing above U+10FFFF. */
	if (*s == 0xe0)
		low = 0xa0;
	else if (*s == 0xed)
		high = 0x9f;
	else if (*s == 0xf0)
		low = 0x90;
	else if (*s == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < len; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

void adv_print_json_string(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', f);
	while (*s) {
		size_t len = utf8_length(s);

		if (!len)
			fprintf(f, "\\udc%02x", *s);
		else if (*s < ' ' || *s == 0x7f)
			fprintf(f, "\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			fwrite(s, len, 1, f);
		s += len ? len : 1;
	}
	fputc('"', f);
}

struct adv_control *adv_cli_connect(bool start)
{
	char why[1024];
	struct adv_control *c = adv_control_connect(start, why, sizeof(why));

	if (!c)
		fprintf(stderr, "adverb: %s\n", why);
	return c;
}

bool adv_cli_gids(struct adv_control *c, struct adv_gid_table *copy)
{
	if (adv_gid_table_read(adv_control_gids(c), copy))
		return true;
	fprintf(stderr, "adverb: adverbd's GID table does not hold still: try again\n");
	return false;
}

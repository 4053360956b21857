/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/mail.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 4096u

bool adv_mail_reserve(struct adv_mail *m, size_t len)
{
	size_t room = m->room ? m->room : ROOM_FIRST;
	uint8_t *larger;

	if (len <= m->room)
		return true;
	while (room < len && room <= SIZE_MAX / 4)
		room *= 2;
	larger = room >= len ? realloc(m->data, room) : NULL;
	if (!larger) {
		m->failed = true;
		return false;
	}
	m->data = larger;
	m->room = room;
	return true;
}

void adv_mail_add(struct adv_mail *m, const void *value, size_t size)
{
	if (size == 0 || m->failed || !adv_mail_reserve(m, m->len + size))
		return;
	memcpy(m->data + m->len, value, size);
	m->len += size;
}

void adv_mail_clear(struct adv_mail *m)
{
	m->len = 0;
	m->failed = false;
}

void adv_mail_free(struct adv_mail *m)
{
	free(m->data);
	*m = (struct adv_mail){.data = NULL};
}

struct adv_mail_reader adv_mail_read(const struct adv_mail *m)
{
	return (struct adv_mail_reader){m->data, m->len};
}

const uint8_t *adv_mail_take_many(struct adv_mail_reader *r, size_t count, size_t size)
{
	static const uint8_t nothing[1];
	const uint8_t *at = r->at;

	if (count > r->left / size)
		return NULL;
	if (count == 0)
		return nothing;
	r->at += count * size;
	r->left -= count * size;
	return at;
}

bool adv_mail_take(struct adv_mail_reader *r, void *value, size_t size)
{
	const uint8_t *at = adv_mail_take_many(r, 1, size);

	if (at)
		memcpy(value, at, size);
	else
		memset(value, 0, size);
	return at != NULL;
}

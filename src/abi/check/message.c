/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/message.h"

#include <string.h>

#include "abi/check/rules.h"

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static bool frames_valid(const struct adv_check_message *m, unsigned stack)
{
	if (m->stack[stack].frames > ADV_CHECK_FRAMES ||
	    !text_ends(m->stack[stack].title, ADV_CHECK_TITLE))
		return false;
	for (unsigned i = 0; i < m->stack[stack].frames; i++) {
		uint32_t module = m->stack[stack].frame[i].module;

		if (module != ADV_CHECK_NO_MODULE && module >= m->modules)
			return false;
	}
	return true;
}

bool adv_check_message_valid(const struct adv_check_message *m, size_t length)
{
	if (length != sizeof(*m) || m->magic != ADV_CHECK_MAGIC || m->rule >= ADV_RULES ||
	    m->stacks > ADV_CHECK_STACKS || m->modules > ADV_CHECK_MODULES ||
	    !text_ends(m->program, sizeof(m->program)) || !text_ends(m->what, sizeof(m->what)) ||
	    !text_ends(m->history, sizeof(m->history)))
		return false;
	for (unsigned i = 0; i < m->stacks; i++)
		if (!frames_valid(m, i))
			return false;
	for (unsigned i = 0; i < m->modules; i++)
		if (!text_ends(m->module[i], ADV_CHECK_PATH))
			return false;
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The keys of `adverb top`. */
#include "cli/top/view.h"

#include <string.h>

#define PAGE 10 /* rows of Page Up and Page Down */

/* Opens another page. */
static bool go_to_page(struct adv_top_view *v, enum adv_top_page page, uint32_t pid, uint32_t qpn)
{
	v->page = page;
	v->pid = pid;
	v->qpn = qpn;
	v->selected = v->first = 0;
	return true;
}

static bool go_down(struct adv_top_view *v, const struct adv_top_data *d)
{
	const struct adv_top_row *r;

	if (v->selected >= d->rows.count || v->page == ADV_TOP_DETAILS ||
	    v->page == ADV_TOP_STORAGE)
		return false;
	r = &d->rows.row[v->selected];
	v->filter[0] = 0;
	if (v->page == ADV_TOP_PROGRAMS)
		return go_to_page(v, ADV_TOP_QUEUE_PAIRS, r->pid, 0);
	return go_to_page(v, ADV_TOP_DETAILS, r->pid, r->qpn);
}

static bool go_back(struct adv_top_view *v)
{
	if (v->help) {
		v->help = false;
		return false;
	}
	if (v->filter[0]) {
		v->filter[0] = 0;
		return true;
	}
	if (v->page == ADV_TOP_DETAILS)
		return go_to_page(v, ADV_TOP_QUEUE_PAIRS, v->pid, 0);
	return v->page != ADV_TOP_PROGRAMS && go_to_page(v, ADV_TOP_PROGRAMS, 0, 0);
}

static bool type_filter(struct adv_top_view *v, int key)
{
	size_t len = strlen(v->filter);

	if (key == ADV_KEY_ENTER) {
		v->typing = false;
	} else if (key == ADV_KEY_BACK) {
		v->typing = false;
		v->filter[0] = 0;
	} else if (key == ADV_KEY_ERASE && len) {
		v->filter[len - 1] = 0;
	} else if (key >= ' ' && key <= '~' && len < ADV_TOP_FILTER - 1) {
		v->filter[len] = (char)key;
		v->filter[len + 1] = 0;
	}
	v->selected = v->first = 0;
	return true;
}

static void move_selection(struct adv_top_view *v, const struct adv_top_data *d, int key)
{
	size_t count = v->page == ADV_TOP_STORAGE ? d->storage.count : d->rows.count;
	size_t last = count ? count - 1 : 0, at = v->selected;

	switch (key) {
	case ADV_KEY_UP:
	case 'k':
		at = at ? at - 1 : 0;
		break;
	case ADV_KEY_DOWN:
	case 'j':
		at++;
		break;
	case ADV_KEY_PAGE_UP:
		at = at > PAGE ? at - PAGE : 0;
		break;
	case ADV_KEY_PAGE_DOWN:
		at += PAGE;
		break;
	case ADV_KEY_HOME:
		at = 0;
		break;
	case ADV_KEY_END:
		at = last;
		break;
	default:
		break;
	}
	v->selected = at < last ? at : last;
}

bool adv_top_press(struct adv_top_view *v, const struct adv_top_data *d, int key)
{
	if (v->typing)
		return type_filter(v, key);
	switch (key) {
	case 'q':
	case ADV_KEY_LOST:
		v->quit = true;
		return false;
	case '?':
	case 'h':
		v->help = !v->help;
		return false;
	case ' ':
		v->frozen = !v->frozen;
		return false;
	case 's':
		v->order = (enum adv_top_order)((v->order + 1) % ADV_TOP_ORDERS);
		return true;
	case 'r':
		v->reverse = !v->reverse;
		return true;
	case '/':
		v->typing = v->page != ADV_TOP_DETAILS && v->page != ADV_TOP_STORAGE;
		return false;
	case 'a':
		return go_to_page(v, ADV_TOP_QUEUE_PAIRS, 0, 0);
	case 'n':
		v->filter[0] = 0;
		return go_to_page(v, ADV_TOP_STORAGE, 0, 0);
	case ADV_KEY_ENTER:
		return go_down(v, d);
	case ADV_KEY_BACK:
	case ADV_KEY_ERASE:
		return go_back(v);
	default:
		move_selection(v, d, key);
		return false;
	}
}

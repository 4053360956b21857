/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/top/storage.h"

#include "cli/top/columns.h"

#define NAME_WIDTH 48

static const char *print_si(char text[ADV_TOP_SI], double number)
{
	adv_top_si(text, number);
	return text;
}

static const char *print_time(char text[ADV_TOP_SI], double us)
{
	adv_top_duration(text, (uint64_t)(us * 1000));
	return text;
}

static void draw_gateway(struct adv_screen *screen, unsigned line,
			 const struct adv_top_storage_row *r)
{
	const struct adv_gateway_rates *n = &r->calls;
	char t[4][ADV_TOP_SI];

	adv_screen_print(screen, line, 0, n->errors ? ADV_ALERT : ADV_PLAIN,
			 "%-6.6s %-*.*s %9s %9s %9s %8s %6llu", r->target, NAME_WIDTH, NAME_WIDTH,
			 r->name, print_si(t[0], n->calls), print_si(t[1], n->reply_bytes),
			 print_si(t[2], n->call_bytes), print_time(t[3], n->us),
			 (unsigned long long)n->errors);
}

static void draw_gateway_title(struct adv_screen *screen, unsigned line)
{
	adv_screen_print(screen, line, 0, ADV_PLAIN, "%-6s %-*s %9s %9s %9s %8s %6s", "GATEWAY",
			 NAME_WIDTH - 1, "SERVER, CLIENT", "CALLS/s", "REPLY B/s", "CALL B/s",
			 "TIME", "ERR");
	adv_screen_mark(screen, line, ADV_REVERSE);
}

static void draw_target(struct adv_screen *screen, unsigned line,
			const struct adv_top_storage_row *r)
{
	const struct adv_nvme_rates *n = &r->rates;
	char t[6][ADV_TOP_SI];

	adv_screen_print(screen, line, 0, n->errors ? ADV_ALERT : ADV_PLAIN,
			 "%-6.6s %-*.*s %8s %8s %8s %8s %8s %8s %6llu", r->target, NAME_WIDTH,
			 NAME_WIDTH, r->name, print_si(t[0], n->reads), print_si(t[1], n->writes),
			 print_si(t[2], n->read_bytes), print_si(t[3], n->write_bytes),
			 print_time(t[4], n->read_us), print_time(t[5], n->write_us),
			 (unsigned long long)n->errors);
}

static void draw_row(struct adv_screen *screen, unsigned line, const struct adv_top_storage_row *r)
{
	if (r->kind == ADV_TOP_GATEWAY_TITLE)
		draw_gateway_title(screen, line);
	else if (r->kind == ADV_TOP_GATEWAY)
		draw_gateway(screen, line, r);
	else
		draw_target(screen, line, r);
}

void adv_top_storage_draw(struct adv_screen *screen, unsigned line, unsigned room,
			  const struct adv_top_storage *s, size_t first)
{
	adv_screen_print(screen, line, 0, ADV_PLAIN, "%-6s %-*s %8s %8s %8s %8s %8s %8s %6s",
			 "TARGET", NAME_WIDTH, "NAMESPACE, HOST", "READS/s", "WRITES/s", "READ B/s",
			 "WRITE B/s", "READ", "WRITE", "ERR");
	adv_screen_mark(screen, line, ADV_REVERSE);
	for (unsigned i = 0; i < room && first + i < s->count; i++)
		draw_row(screen, line + 1 + i, &s->row[first + i]);
	if (!s->count)
		adv_screen_print(screen, line + 2, 2, ADV_BOLD,
				 "No NVMe over Fabrics target or gateway of your user runs.");
}

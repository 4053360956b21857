/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Units, elements, and a plot by dygraphs with a legend, thresholds and values at the pointer. */
"use strict";

const UNITS = {
	time: [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]],
	bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
	rate: [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]],
	count: [[1, ""]],
	percent: [[1, "%"]],
};

/* Returns a value with its unit, such as "1.5 ms". */
function format(unit, value) {
	const [one, name] = UNITS[unit].find(([size]) => Math.abs(value) >= size * 0.9999999) || UNITS[unit].at(-1);

	return value ? `${Number((value / one).toPrecision(4))} ${name}`.trim() : "0";
}

/* Creates an element with attributes and children. A child is an element or text. */
function element(tag, attributes, ...children) {
	const e = document.createElement(tag);

	for (const [key, value] of Object.entries(attributes || {}))
		e.setAttribute(key, value);
	e.append(...children);
	return e;
}

function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* ---- values at the pointer ---- */

/* Shows lines of text near the pointer, inside `figure`. The first line is a heading. */
function showTip(figure, event, lines) {
	const frame = figure.getBoundingClientRect();
	let tip = figure.querySelector(".tip");

	if (!tip)
		figure.append(tip = element("div", {class: "tip", role: "status"}));
	tip.replaceChildren(element("b", {}, lines[0]), ...lines.slice(1).map((line) => element("div", {}, line)));
	tip.hidden = false;
	const x = event.clientX - frame.left, y = event.clientY - frame.top;
	const left = x + 14 + tip.offsetWidth <= frame.width ? x + 14 : Math.max(0, x - 14 - tip.offsetWidth);
	tip.style.left = Math.min(left, Math.max(0, frame.width - tip.offsetWidth)) + "px";
	tip.style.top = Math.max(0, Math.min(y + 14, frame.height - tip.offsetHeight)) + "px";
}

function hideTip(figure) {
	const tip = figure.querySelector(".tip");

	if (tip)
		tip.hidden = true;
}

/* ---- thresholds ---- */

/* Writes names at the right end of their lines. If lines are close, their names are beside each
 * other. */
function drawNames(context, area, names) {
	let last = -Infinity, right = area.x + area.w - 4;

	context.font = "600 11px system-ui, sans-serif";
	context.textAlign = "right";
	context.textBaseline = "middle";
	for (const {y, text, shade} of names.sort((a, b) => a.y - b.y)) {
		const at = Math.max(area.y + 8, Math.min(y, area.y + area.h - 8)), width = context.measureText(text).width;
		if (at - last >= 14)
			right = area.x + area.w - 4;
		context.fillStyle = colour("bg");
		context.fillRect(right - width - 4, at - 7, width + 8, 14);
		context.fillStyle = shade;
		context.fillText(text, right, at);
		right -= width + 14;
		last = at;
	}
}

/* Returns a plug-in for dygraphs that draws levels. Each level has a value, a name, a colour and a
 * dash pattern. If a level has no dash pattern, only its name is written at its value, since a
 * series draws the line. The names of levels above the plot are at the top with an arrow. */
function levelsPlugin(levels) {
	function draw({dygraph, drawingContext: context}) {
		const area = dygraph.getArea(), names = [];

		context.save();
		for (const {value, name, shade, dash} of levels) {
			const y = dygraph.toDomYCoord(value);

			if (y > area.y + area.h)
				continue;
			names.push({y: Math.max(y, area.y), text: y < area.y ? name + " ↑" : name, shade: colour(shade)});
			if (!dash || y < area.y)
				continue;
			context.strokeStyle = colour(shade);
			context.lineWidth = 1.5;
			context.setLineDash(dash);
			context.beginPath();
			context.moveTo(area.x, y);
			context.lineTo(area.x + area.w, y);
			context.stroke();
		}
		context.setLineDash([]);
		drawNames(context, area, names);
		context.restore();
	}
	return {activate: () => ({didDrawChart: draw})};
}

/* ---- plots ---- */

const plots = []; /* all plots of the page */

/* Zooms every plot over time to the same part of the run. null: the whole run. */
function zoomTime(range) {
	document.getElementById("begin")?.toggleAttribute("hidden", range === null);
	for (const plot of plots)
		if (plot.options.time) {
			plot.graph.updateOptions({dateWindow: range, valueRange: plot.options.valueRange || null});
			plot.figure.classList.toggle("zoomed", range !== null);
		}
}

/* Returns the interaction model of a plot: one finger scrolls the page, two fingers zoom. */
function interaction() {
	const model = {...Dygraph.defaultInteractionModel};
	const start = model.touchstart, move = model.touchmove;

	model.touchstart = (event, graph, context) => event.touches.length > 1 && start(event, graph, context);
	model.touchmove = (event, graph, context) => event.touches.length > 1 && move(event, graph, context);
	return model;
}

function legendButton(plot, {name, label, shade, dash}, indices) {
	const key = element("span", {class: ["key", dash?.name || ""].join(" ").trim(), style: `color:var(--${shade})`});
	const button = element("button", {type: "button", "aria-pressed": "true"}, key, label || name);

	button.addEventListener("click", () => {
		const show = button.getAttribute("aria-pressed") === "false";

		button.setAttribute("aria-pressed", String(show));
		for (const i of indices) {
			plot.hidden[i] = !show;
			plot.graph.setVisibility(i, show);
		}
	});
	return button;
}

/* Returns a button for each series with a line of its own, and one button for the others of each group. */
function legend(plot) {
	const series = plot.options.series, others = new Map();
	const list = element("div", {class: "legend"});

	series.forEach((s, i) => {
		if (s.shade !== "other")
			list.append(legendButton(plot, s, [i]));
		else
			others.set(s.group, [...others.get(s.group) || [], i]);
	});
	for (const [group, indices] of others)
		list.append(legendButton(plot, {name: `${group}: ${indices.length} more`, shade: "other"}, indices));
	return list;
}

/* Returns the values of visible series at a point of the plot, at most 8. If there are more than 8
 * series, the values nearest to the point are first. */
function valuesAt(plot, x, y) {
	const {series, at} = plot.options;
	let i = at.findIndex((begin) => begin > x) - 1;

	if (x < at[0])
		return null;
	if (i < 0)
		i = at.length - 1;
	const values = series.map((s, k) => ({name: s.name, value: s.values[Math.min(i, s.values.length - 1)], k}))
		.filter(({value, k}) => !plot.hidden[k] && value !== null);
	values.sort((a, b) => series.length <= 8 ? a.k - b.k : Math.abs(a.value - y) - Math.abs(b.value - y));
	return {i, values: values.slice(0, 8)};
}

function onPointer(plot, event) {
	const {graph, figure, options} = plot, area = graph.getArea();
	const [px, py] = graph.eventToDomCoords(event);

	if (px < area.x || px > area.x + area.w || py < area.y || py > area.y + area.h)
		return hideTip(figure);
	const x = graph.toDataXCoord(px), y = graph.toDataYCoord(py);
	const lines = options.tip ? options.tip(x, y) : null;
	if (lines)
		return showTip(figure, event, lines);
	const found = options.tip ? null : valuesAt(plot, x, y);
	if (!found)
		return hideTip(figure);
	return showTip(figure, event, [options.xName(options.at[found.i]),
		...found.values.map(({name, value}) => `${name}: ${format(options.unit, value)}`)]);
}

/* Returns the rows for dygraphs. If a series has a band, each value is [least, value, most]. */
function rowsOf({at, end, series}) {
	const band = series.some((s) => s.least);
	const row = (x, i) => [x, ...series.map((s) => {
		const value = s.values[Math.min(i, s.values.length - 1)];

		return band ? value === null ? [null, null, null] : [s.least ? s.least[i] : value, value, value] : value;
	})];
	const rows = at.map((x, i) => row(x, i));

	if (end !== undefined)
		rows.push(row(end, at.length - 1)); /* makes the last step as long as its moment */
	return rows;
}

function graphOptions(plot) {
	const o = plot.options, band = o.series.some((s) => s.least), settings = {};

	o.series.forEach((s, i) => {
		settings["y" + i] = {color: colour(s.shade), strokeWidth: s.shade === "other" ? 1 : 1.8,
			strokePattern: s.dash?.line || null};
	});
	return {
		labels: ["x", ...o.series.map((s, i) => "y" + i)],
		series: settings,
		visibility: o.series.map((s, i) => !plot.hidden[i]),
		stepPlot: o.step !== false, customBars: band, errorBars: band, fillAlpha: 0.25,
		legend: "never", highlightCircleSize: 0, includeZero: true, connectSeparatedPoints: false,
		valueRange: o.valueRange || null, dateWindow: o.xRange || null,
		axisLineColor: colour("dim"), gridLineColor: colour("grid"), axisLabelFontSize: 12,
		interactionModel: interaction(), plugins: [levelsPlugin(o.levels || [])],
		underlayCallback: o.underlay,
		zoomCallback: (from, to) => onZoom(plot, from, to),
		axes: {
			x: {axisLabelFormatter: (v) => format(o.xUnit, v), valueFormatter: (v) => format(o.xUnit, v),
				pixelsPerLabel: 70, axisLabelWidth: 60, ticker: Dygraph.numericTicks},
			y: {axisLabelFormatter: (v) => format(o.unit, v), axisLabelWidth: o.labelWidth || 64,
				pixelsPerLabel: 34, logscale: o.log || false, ...(o.ticker && {ticker: o.ticker})},
		},
	};
}

function onZoom(plot, from, to) {
	const [least, most] = plot.graph.xAxisExtremes();

	if (plot.options.time)
		zoomTime(from <= least && to >= most ? null : [from, to]);
	plot.figure.classList.toggle("zoomed", plot.graph.isZoomed());
}

/*
 * Adds a plot to the element `parent`. Options: title, badge, caption, series [{name, label (for the legend), values,
 * shade, least, dash (name in the style sheet and pattern of the line), group (of those with shade "other")}], at (the beginning of each value on the x axis), end, unit, xUnit, xName (function: text of an element
 * of `at`), levels, valueRange, time (x is virtual time), kind (a word for tests).
 */
function addPlot(parent, options) {
	const box = element("div", {class: "plot", style: options.height ? `height:${options.height}px` : ""});
	const reset = element("button", {type: "button", class: "reset"}, "Reset zoom");
	const figure = element("figure", {"data-plot": options.kind}, element("div", {class: "heading"},
		element("h3", {}, options.title, ...(options.badge ? [" ", element("span", {class: "badge"}, options.badge)] : [])),
		reset), box);
	const plot = {options, figure, box, hidden: [], graph: null};

	if (options.series.length > 1 && !options.tip)
		figure.append(legend(plot));
	if (options.caption)
		figure.append(element("figcaption", {}, options.caption));
	parent.append(figure);
	plot.draw = () => {
		if (plot.graph)
			plot.graph.destroy();
		plot.graph = new Dygraph(box, rowsOf(options), graphOptions(plot));
	};
	plot.draw();
	reset.addEventListener("click", () => {
		plot.graph.resetZoom();
		if (options.time)
			zoomTime(null);
		figure.classList.remove("zoomed");
	});
	box.addEventListener("mousemove", (event) => onPointer(plot, event));
	box.addEventListener("mouseleave", () => hideTip(figure));
	plots.push(plot);
	return plot;
}

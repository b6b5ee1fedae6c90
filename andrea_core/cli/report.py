"""The command `andrea report`: writes a run's page and, if asked, opens it in the browser."""

import click


@click.command("report")
@click.argument("run", type=click.Path(path_type=str))
@click.option("--open", "show", is_flag=True, help="Open the page in the browser.")
def report(run: str, show: bool) -> None:
    """Write RUN's report.html, one page that needs no network; a run that still goes on or broke off works too."""
    from andrea_core.report.page import write_report

    page = write_report(run)
    click.echo(str(page))
    if show:
        click.launch(page.resolve().as_uri())
